// The live clock: monotonic, nanoseconds.
#pragma once

#include <time.h>

#include <cstdint>

namespace crosscut {

inline std::int64_t monotonic_nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Returns the processor time (user and kernel), in nanoseconds, of the whole process or the calling thread.
enum class Processor { process, thread };
inline std::int64_t processor_nanoseconds(Processor of) {
  timespec now{};
  ::clock_gettime(of == Processor::process ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace crosscut
