#include "base/line_buffer.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace crosscut {

void LineBuffer::take(std::string_view bytes, std::vector<std::string>& lines) {
  while (!bytes.empty()) {
    // A newline right after `bytes_max` bytes ends that line; it does not begin another piece.
    if (partial_.size() == bytes_max && bytes.front() != '\n') lines.push_back(std::exchange(partial_, {}));
    const std::size_t newline = bytes.find('\n');
    const std::size_t room = bytes_max - partial_.size();
    const std::size_t taken = std::min({newline, bytes.size(), room});
    partial_ += bytes.substr(0, taken);
    const bool complete = taken == newline;
    if (complete && partial_.ends_with('\r')) partial_.pop_back();  // ssh ends its own lines with "\r\n"
    if (complete) lines.push_back(std::exchange(partial_, {}));
    bytes.remove_prefix(taken + (complete ? 1 : 0));
  }
}

std::vector<std::string> LineBuffer::read(int fd) {
  std::vector<std::string> lines;
  std::array<char, 4096> chunk;
  // Read at most a pipe's capacity, so that one endless writer cannot starve the other descriptors.
  for (int chunks = 0; chunks < 16 && !ended_; ++chunks) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got > 0) take({chunk.data(), static_cast<std::size_t>(got)}, lines);
    ended_ = got <= 0;
    if (ended_ && !partial_.empty()) lines.push_back(std::exchange(partial_, {}));
  }
  return lines;
}

}  // namespace crosscut
