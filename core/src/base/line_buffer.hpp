// Lines out of a non-blocking descriptor, of bounded length.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crosscut {

class LineBuffer {
 public:
  // Reads what is there now and returns the lines completed by it, without newlines; a longer line than
  // `bytes_max` comes in pieces. `ended` becomes true at the end of file; a last line without newline counts.
  std::vector<std::string> read(int fd);
  bool ended() const { return ended_; }

 private:
  static constexpr std::size_t bytes_max = 16384;
  void take(std::string_view bytes, std::vector<std::string>& lines);
  std::string partial_;
  bool ended_ = false;
};

}  // namespace crosscut
