// The lines of a session, one JSON object each (docs/reference/session-protocol.md): requests in, events out.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/json.hpp"

namespace crosscut::conduct {

class Requests {
 public:
  explicit Requests(int fd) : fd_(fd) {}
  int fd() const { return fd_; }
  // Reads the available bytes without waiting.
  void read();
  bool ended() const { return ended_; }  // end of file
  bool empty() const { return lines_.empty(); }
  std::string take();
  // Removes a waiting {"do": "stop"}, even from behind waiting jobs. Returns true if there was one.
  bool take_stop();

 private:
  int fd_;
  bool ended_ = false;
  std::string partial_;
  std::deque<std::string> lines_;
};

// Writes events from a thread of its own, so that a stalled reader (a suspended front end) does not hold up a
// measurement.
class Events {
 public:
  explicit Events(int fd) : fd_(fd) {}
  ~Events();  // waits for the reader, as `ended` does
  void say(const json::Value& event);
  // Writes an event, or drops it if more than `most_waiting` events wait for the reader.
  void progress(const json::Value& event);
  void warn(const std::string& message) { say(json::Object{{"event", "warning"}, {"message", message}}); }
  void error(const std::string& message, bool usage) {
    say(json::Object{{"event", "error"}, {"message", message}, {"kind", usage ? "usage" : "run"}});
  }
  // Writes the event `ended`, then waits until the reader has taken every event or closed its end.
  void ended();
  bool broken() const { return broken_; }  // the reader has closed its end

  static constexpr std::size_t most_waiting = 16;

 private:
  void write_waiting();
  void write(std::string_view line);

  int fd_;
  std::atomic<bool> broken_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;  // the first is being written
  bool over_ = false;
  std::thread writer_;
};

}  // namespace crosscut::conduct
