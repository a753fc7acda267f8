// What a session is asked for on its input: one JSON object a line.
#pragma once

#include <deque>
#include <string>

#include "base/json.hpp"

namespace crosscut::conduct {

class Requests {
 public:
  explicit Requests(int fd) : fd_(fd) {}
  int fd() const { return fd_; }
  // Reads what is there, without waiting.
  void read();
  bool ended() const { return ended_; }  // end of file
  bool empty() const { return lines_.empty(); }
  std::string take();
  // Takes out a waiting {"do": "stop"}: true if there was one. It overtakes jobs that wait.
  bool take_stop();

 private:
  int fd_;
  bool ended_ = false;
  std::string partial_;
  std::deque<std::string> lines_;
};

}  // namespace crosscut::conduct
