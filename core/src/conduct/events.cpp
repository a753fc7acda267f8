#include "conduct/events.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace crosscut::conduct {

bool Events::say(const json::Value& event) {
  const auto line = json::write(event) + "\n";
  std::string_view left = line;
  while (!left.empty() && !broken_) {
    const auto written = ::write(fd_, left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd waiting{fd_, POLLOUT, 0};
      ::poll(&waiting, 1, 1000);
    } else if (errno != EINTR) {
      broken_ = true;
    }
  }
  return !broken_;
}

}  // namespace crosscut::conduct
