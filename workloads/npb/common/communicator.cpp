#include "npb/common/communicator.hpp"

#include <array>

namespace crosscut::npb {

Communicator::Communicator(std::shared_ptr<MPI_Comm> handle, std::shared_ptr<double> seconds)
    : handle_(std::move(handle)), seconds_(std::move(seconds)) {
  check(MPI_Comm_rank(*handle_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(*handle_, &size_), "MPI_Comm_size");
}

Communicator Communicator::world() {
  // Return error codes, so that `check` can name the failed call.
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return {std::make_shared<MPI_Comm>(MPI_COMM_WORLD), std::make_shared<double>(0.0)};
}

Communicator Communicator::split(int color) const {
  const auto part = std::make_shared<MPI_Comm>(MPI_COMM_NULL);
  check(MPI_Comm_split(*handle_, color, rank_, part.get()), "MPI_Comm_split");
  return {std::shared_ptr<MPI_Comm>(part.get(), [part](MPI_Comm* handle) { MPI_Comm_free(handle); }),
          seconds_};
}

std::vector<double> Communicator::gather(double value) {
  std::vector<double> values(rank_ == 0 ? static_cast<std::size_t>(size_) : 0);
  timed("MPI_Gather", MPI_Gather, &value, 1, MPI_DOUBLE, values.data(), 1, MPI_DOUBLE, 0, *handle_);
  return values;
}

void Communicator::check(int code, const char* name) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw std::runtime_error(std::string(name) + ": " +
                           std::string(text.data(), static_cast<std::size_t>(length)));
}

}  // namespace crosscut::npb
