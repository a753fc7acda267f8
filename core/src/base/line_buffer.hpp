// Reads lines of bounded length from a non-blocking descriptor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crosscut {

class LineBuffer {
 public:
  // Reads the available bytes and returns the lines that they complete, without newlines. A line longer than
  // `bytes_max` is returned in pieces. At the end of file `ended` becomes true, and an unterminated last line
  // is returned.
  std::vector<std::string> read(int fd);
  bool ended() const { return ended_; }

 private:
  static constexpr std::size_t bytes_max = 16384;
  void take(std::string_view bytes, std::vector<std::string>& lines);
  std::string partial_;
  bool ended_ = false;
};

}  // namespace crosscut
