// Computation beside communication (Salmon et al. 1998, section 2): a thread computes while the rank's phases
// run, and counts its units of work.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "base/clock.hpp"

namespace crosscut::measure {

class Compute {
 public:
  // Starts the worker and measures how many units per second it completes alone.
  Compute() : worker_([this] { loop(); }) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto units_before = units();
    const auto before = monotonic_nanoseconds();
    // On a busy machine the worker may not have run yet, and a rate of 0 would make every share infinite.
    do {
      std::this_thread::sleep_for(std::chrono::duration<double>(alone_seconds));
    } while (units() == units_before);
    const auto seconds = static_cast<double>(monotonic_nanoseconds() - before) * 1e-9;
    alone_ = static_cast<double>(units() - units_before) / seconds;
    work(false);
  }
  ~Compute() {
    ending_ = true;
    work(true);
    worker_.join();
  }
  Compute(const Compute&) = delete;
  Compute& operator=(const Compute&) = delete;
  std::int64_t units() const { return units_.load(std::memory_order_relaxed); }
  double units_per_second_alone() const { return alone_; }
  // Turns the work on or off; it is off outside blocks.
  void work(bool on) {
    working_ = on;
    working_.notify_all();
  }

 private:
  // Spans many time slices of a scheduler (milliseconds each), even if several ranks' workers share a core.
  static constexpr double alone_seconds = 1;

  // One unit of work, about two microseconds: a vector update like DAXPY on 16 KiB, within the L1 cache.
  static void one_unit(std::array<double, 1024>& x, std::array<double, 1024>& y) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = y[i] * 0.999999 + x[i];
    // Keeps the compiler from removing the loop.
    asm volatile("" : : "r"(y.data()) : "memory");
  }

  void loop() {
    std::array<double, 1024> x{}, y{};
    x.fill(1.0);
    while (!ending_) {
      working_.wait(false);
      while (working_ && !ending_) {
        one_unit(x, y);
        units_.store(units_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      }
    }
  }

  alignas(64) std::atomic<std::int64_t> units_{0};
  alignas(64) std::atomic<bool> working_{true}, ending_{false};
  std::thread worker_;
  double alone_ = 0;
};

}  // namespace crosscut::measure
