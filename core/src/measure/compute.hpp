// Computing beside communicating (Salmon et al. 1998, section 4): a thread that works while the rank's phases
// run, and counts how much it got done.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace crosscut::measure {

class Compute {
 public:
  // Starts the worker and measures, alone, how many units a second it does.
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
