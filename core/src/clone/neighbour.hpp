// The connections of a rank with one neighbour in the chain, with one thread per rail.
#pragma once

#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "session/socket.hpp"

namespace crosscut::clone {

class Neighbour {
 public:
  struct Work {
    // Opens the rail's connection.
    std::function<Fd(std::int32_t rail, const std::stop_token& stop)> open;
    // Does all work on the connection.
    std::function<void(int fd, std::int32_t rail, const std::stop_token& stop)> run;
    // Called by a rail's thread, unless a stop was requested: `lost` after ConnectionLost, `failed` after any
    // other error.
    std::function<void(const std::string&why)> lost, failed;
  };
  Neighbour(std::int32_t rails, Work work)
      : work_(std::move(work)), connections_(static_cast<std::size_t>(rails)) {
    for (std::int32_t rail = 0; rail < rails; ++rail)
      threads_.emplace_back([this, rail](const std::stop_token& stop) { serve(rail, stop); });
  }
  // Stops work in progress.
  ~Neighbour() {
    for (std::jthread& thread : threads_) thread.request_stop();
    const std::lock_guard lock(mutex_);
    for (const Fd& fd : connections_)
      if (fd) ::shutdown(fd.get(), SHUT_RDWR);
    // A thread that opens its connection later sees the stop request. The threads are joined next.
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

 private:
  void serve(std::int32_t rail, const std::stop_token& stop) {
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

  Work work_;
  std::mutex mutex_;  // guards connections_
  std::vector<Fd> connections_;
  std::vector<std::jthread> threads_;
};

}  // namespace crosscut::clone
