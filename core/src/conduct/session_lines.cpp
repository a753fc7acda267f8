#include "conduct/session_lines.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.hpp"

namespace crosscut::conduct {
namespace {

constexpr std::size_t line_bytes_max = std::size_t{16} << 20;

bool is_stop(const std::string& line) {
  try {
    const auto request = json::parse(line);
    const auto* word = request.is_object() ? request.find("do") : nullptr;
    return word != nullptr && word->is_string() && word->string() == "stop";
  } catch (const UsageError&) {
    return false;  // reported when the line's turn comes
  }
}

}  // namespace

void Requests::read() {
  while (!ended_) {
    pollfd waiting{fd_, POLLIN, 0};
    if (::poll(&waiting, 1, 0) <= 0) return;
    std::array<char, 65536> buffer;
    const auto got = ::read(fd_, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) {
      ended_ = true;
      return;
    }
    partial_.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t from = 0;
    for (auto newline = partial_.find('\n'); newline != std::string::npos;
         newline = partial_.find('\n', from)) {
      if (newline > from) lines_.push_back(partial_.substr(from, newline - from));
      from = newline + 1;
    }
    partial_.erase(0, from);
    if (partial_.size() > line_bytes_max) throw UsageError("a request is longer than 16 MiB");
  }
}

std::string Requests::take() {
  auto line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

bool Requests::take_stop() {
  const auto stop = std::find_if(lines_.begin(), lines_.end(), is_stop);
  if (stop == lines_.end()) return false;
  lines_.erase(stop);
  return true;
}

Events::~Events() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  if (writer_.joinable()) writer_.join();
}

void Events::say(const json::Value& event) {
  auto line = json::write(event) + "\n";
  const std::lock_guard lock(mutex_);
  if (broken_) return;
  waiting_.push_back(std::move(line));
  if (!writer_.joinable()) writer_ = std::thread([this] { write_waiting(); });
  changed_.notify_all();
}

void Events::progress(const json::Value& event) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() > most_waiting) return;
  }
  say(event);
}

void Events::ended() {
  say(json::Object{{"event", "ended"}});
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty(); });
}

void Events::write_waiting() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::string& line = waiting_.front();  // a deque keeps it in place while others are added
    lock.unlock();
    write(line);
    lock.lock();
    waiting_.pop_front();
    if (broken_) waiting_.clear();
    changed_.notify_all();
  }
}

void Events::write(std::string_view line) {
  while (!line.empty() && !broken_) {
    const auto written = ::write(fd_, line.data(), line.size());
    if (written >= 0) {
      line.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd waiting{fd_, POLLOUT, 0};
      ::poll(&waiting, 1, 1000);
    } else if (errno != EINTR) {
      broken_ = true;
    }
  }
}

}  // namespace crosscut::conduct
