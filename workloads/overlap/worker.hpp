// Computes in rounds of equally many operations.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "program/computing.hpp"

namespace crosscut::overlap {

class Worker {
 public:
  Worker() {
    for (std::size_t i = 0; i < elements; ++i) values_.push_back(value(i));
  }

  // Returns the time of one round, averaged over milliseconds in which all computing ranks compute.
  double try_round_seconds() {
    const double begin_seconds = MPI_Wtime();
    compute(trial_rounds);
    return (MPI_Wtime() - begin_seconds) / static_cast<double>(trial_rounds);
  }

  void compute(std::int64_t rounds) { program::compute(values_, rounds); }

  // Returns the number of values that have changed; none should.
  std::int64_t changed() const {
    std::int64_t found = 0;
    for (std::size_t i = 0; i < elements; ++i)
      if (values_[i] != value(i)) ++found;
    return found;
  }

  static double operations(std::int64_t rounds) {
    return static_cast<double>(rounds) * static_cast<double>(elements) * program::operations_per_round;
  }

 private:
  static constexpr std::size_t elements = 512;          // 4 KiB: fits the first-level cache
  static constexpr std::int64_t trial_rounds = 200000;  // 10 to 20 milliseconds

  static double value(std::size_t index) { return static_cast<double>(index + 1); }

  std::vector<double> values_;
};

}  // namespace crosscut::overlap
