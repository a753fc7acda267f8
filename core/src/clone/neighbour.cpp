#include "clone/neighbour.hpp"

#include <sys/socket.h>

#include "session/socket.hpp"

namespace crosscut::clone {

Neighbour::Neighbour(std::int32_t rails, Work work)
    : work_(std::move(work)), connections_(static_cast<std::size_t>(rails)) {
  for (std::int32_t rail = 0; rail < rails; ++rail)
    threads_.emplace_back([this, rail](const std::stop_token& stop) { serve(rail, stop); });
}

Neighbour::~Neighbour() {
  for (std::jthread& thread : threads_) thread.request_stop();
  const std::lock_guard lock(mutex_);
  for (const Fd& fd : connections_)
    if (fd) ::shutdown(fd.get(), SHUT_RDWR);
  // A thread that gets its connection only now sees the request to stop. The threads are joined next.
}

void Neighbour::serve(std::int32_t rail, const std::stop_token& stop) {
  try {
    Fd opened = work_.open(rail, stop);
    const int fd = opened.get();
    {
      const std::lock_guard lock(mutex_);
      if (stop.stop_requested()) return;
      connections_[static_cast<std::size_t>(rail)] = std::move(opened);
    }
    work_.run(fd, rail, stop);
  } catch (const session::ConnectionLost& lost) {
    if (!stop.stop_requested()) work_.lost(lost.what());
  } catch (const std::exception& error) {
    if (!stop.stop_requested()) work_.failed(error.what());
  }
}

}  // namespace crosscut::clone
