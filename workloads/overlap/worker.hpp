// Computing of an asked time, in portions of equal operations.
#pragma once

#include <cstdint>
#include <vector>

namespace crosscut::overlap {

class Worker {
 public:
  Worker();

  // Of one round, in the mean of milliseconds in which all who compute do so.
  double try_round_seconds();
  void compute(std::int64_t rounds);

  // Values that are not what they were: each should be.
  std::int64_t changed() const;
  double operations(std::int64_t rounds) const;

 private:
  std::vector<double> values_;
};

}  // namespace crosscut::overlap
