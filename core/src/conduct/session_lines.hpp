// The lines of a session, one JSON object each (docs/reference/session-protocol.md): requests in, events out.
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

class Events {
 public:
  explicit Events(int fd) : fd_(fd) {}
  void say(const json::Value& event);
  void warn(const std::string& message) { say(json::Object{{"event", "warning"}, {"message", message}}); }
  void error(const std::string& message, bool usage) {
    say(json::Object{{"event", "error"}, {"message", message}, {"kind", usage ? "usage" : "run"}});
  }
  void ended() { say(json::Object{{"event", "ended"}}); }
  bool broken() const { return broken_; }  // the reader has closed its end

 private:
  int fd_;
  bool broken_ = false;
};

}  // namespace crosscut::conduct
