#if defined(CROSSCUT_HAVE_MPI)

#include "backends/mpi/library.hpp"

#include <sched.h>

#include <algorithm>

namespace crosscut::backends::mpi {

World::World() {
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

void World::drain(bool yielding, const session::ControlThread& control) const {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(comm_, &request), "MPI_Ibarrier");
  for (int done = 0; done == 0;) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done == 0 && control.interrupted())
      throw session::ConnectionLost("interrupted while all ranks finished a phase");
    if (yielding && done == 0) ::sched_yield();
  }
}

json::Object library_facts() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0, major = 0, minor = 0;
  MPI_Get_library_version(text.data(), &length);
  MPI_Get_version(&major, &minor);
  std::string library(text.data(), static_cast<std::size_t>(std::max(0, length)));
  library = library.substr(0, library.find('\n'));
  return {{"library", library}, {"standard", std::to_string(major) + "." + std::to_string(minor)}};
}

}  // namespace crosscut::backends::mpi

#endif
