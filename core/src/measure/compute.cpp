#include "measure/compute.hpp"

#include <array>
#include <chrono>

#include "base/clock.hpp"

namespace crosscut::measure {
namespace {

// One unit of work: a DAXPY over 16 KiB, which stays in the first-level cache; about two microseconds.
void one_unit(std::array<double, 1024>& x, std::array<double, 1024>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = y[i] * 0.999999 + x[i];
  // Make the compiler assume that y is read.
  asm volatile("" : : "r"(y.data()) : "memory");
}

// Spans many time slices of a scheduler (milliseconds each), even if several ranks' workers share a core.
constexpr double alone_seconds = 1;

}  // namespace

Compute::Compute() : worker_([this] { loop(); }) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto units_before = units();
  const auto before = monotonic_nanoseconds();
  std::this_thread::sleep_for(std::chrono::duration<double>(alone_seconds));
  const auto seconds = static_cast<double>(monotonic_nanoseconds() - before) * 1e-9;
  alone_ = static_cast<double>(units() - units_before) / seconds;
  work(false);
}

Compute::~Compute() {
  ending_ = true;
  work(true);
  worker_.join();
}

void Compute::work(bool on) {
  working_ = on;
  working_.notify_all();
}

void Compute::loop() {
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

}  // namespace crosscut::measure
