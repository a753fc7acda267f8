// Computes beside communication (Salmon et al. 1998, section 4): a thread works while the rank's phases run,
// and counts its units of work.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace crosscut::measure {

class Compute {
 public:
  // Starts the worker and measures how many units a second it does alone.
  Compute();
  ~Compute();
  Compute(const Compute&) = delete;
  Compute& operator=(const Compute&) = delete;
  std::int64_t units() const { return units_.load(std::memory_order_relaxed); }
  double units_per_second_alone() const { return alone_; }
  void work(bool on);  // idle outside of blocks

 private:
  void loop();
  alignas(64) std::atomic<std::int64_t> units_{0};
  alignas(64) std::atomic<bool> working_{true}, ending_{false};
  std::thread worker_;
  double alone_ = 0;
};

}  // namespace crosscut::measure
