// The connections of a rank with one neighbour in the chain: a thread for each rail.
#pragma once

#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.hpp"

namespace crosscut::clone {

class Neighbour {
 public:
  struct Work {
    // Returns once the rail's connection is open.
    std::function<Fd(std::int32_t rail, const std::stop_token& stop)> open;
    // Returns once all work on the connection is done.
    std::function<void(int fd, std::int32_t rail, const std::stop_token& stop)> run;
    // Called by a thread of the link, unless it was told to stop: `lost` after ConnectionLost, `failed` after
    // another error of this rank.
    std::function<void(const std::string&why)> lost, failed;
  };
  Neighbour(std::int32_t rails, Work work);
  ~Neighbour();  // stops work in progress
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

 private:
  void serve(std::int32_t rail, const std::stop_token& stop);

  Work work_;
  std::mutex mutex_;  // guards connections_
  std::vector<Fd> connections_;
  std::vector<std::jthread> threads_;
};

}  // namespace crosscut::clone
