#include "overlap/worker.hpp"

#include <mpi.h>

#include <cstddef>

#include "program/computing.hpp"

namespace crosscut::overlap {

namespace {

constexpr std::size_t elements = 512;          // 4 KiB: in the first cache
constexpr std::int64_t trial_rounds = 200000;  // 10 or 20 milliseconds

double value(std::size_t index) { return static_cast<double>(index + 1); }

}  // namespace

Worker::Worker() {
  for (std::size_t i = 0; i < elements; ++i) values_.push_back(value(i));
}

double Worker::try_round_seconds() {
  const double begin_seconds = MPI_Wtime();
  compute(trial_rounds);
  return (MPI_Wtime() - begin_seconds) / static_cast<double>(trial_rounds);
}

void Worker::compute(std::int64_t rounds) { program::compute(values_, rounds); }

std::int64_t Worker::changed() const {
  std::int64_t found = 0;
  for (std::size_t i = 0; i < elements; ++i)
    if (values_[i] != value(i)) ++found;
  return found;
}

double Worker::operations(std::int64_t rounds) const {
  return static_cast<double>(rounds) * static_cast<double>(elements) * program::operations_per_round;
}

}  // namespace crosscut::overlap
