// Writes a session's events, one JSON object a line (docs/reference/session-protocol.md).
#pragma once

#include "base/json.hpp"

namespace crosscut::conduct {

class Events {
 public:
  explicit Events(int fd) : fd_(fd) {}
  // Returns false if the reader has closed its end.
  bool say(const json::Value& event);
  void warn(const std::string& message) { say(json::Object{{"event", "warning"}, {"message", message}}); }
  void error(const std::string& message, bool usage) {
    say(json::Object{{"event", "error"}, {"message", message}, {"kind", usage ? "usage" : "run"}});
  }
  bool broken() const { return broken_; }

 private:
  int fd_;
  bool broken_ = false;
};

}  // namespace crosscut::conduct
