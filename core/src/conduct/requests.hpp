// Reads a session's requests, one JSON object a line.
#pragma once

#include <deque>
#include <string>

#include "base/json.hpp"

namespace crosscut::conduct {

class Requests {
 public:
  explicit Requests(int fd) : fd_(fd) {}
  int fd() const { return fd_; }
  // Reads what is available now, without waiting.
  void read();
  bool ended() const { return ended_; }  // end of file
  bool empty() const { return lines_.empty(); }
  std::string take();
  // Removes a waiting {"do": "stop"}, even if jobs wait before it. Returns true if there was one.
  bool take_stop();

 private:
  int fd_;
  bool ended_ = false;
  std::string partial_;
  std::deque<std::string> lines_;
};

}  // namespace crosscut::conduct
