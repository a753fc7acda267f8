// Basics for system calls: an owned descriptor, deadlines, and errors that name the failed action.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

namespace crosscut {

using Deadline = std::chrono::steady_clock::time_point;
Deadline after_seconds(double seconds);
int milliseconds_left(Deadline deadline);  // 0 when past
double seconds_since(Deadline start);

[[noreturn]] void throw_errno(std::string_view task);  // RunError: "cannot TASK: strerror(errno)"

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read, write;  // both closed on exec
};
Pipe make_pipe();  // throws RunError
// Allows this process and those it starts as many descriptors as possible; returns how many.
std::uint64_t raise_descriptor_limit();
void make_non_blocking(const Fd& fd);

// Writes in one call, so that lines of several processes do not interleave. Ignores errors: there is nowhere
// left to report them.
void write_once(int fd, std::string_view text);

}  // namespace crosscut
