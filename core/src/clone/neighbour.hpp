// The connections of a rank with one neighbour of the chain: a thread for each rail.
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
    // Until the rail's connection stands.
    std::function<Fd(std::int32_t rail, const std::stop_token& stop)> open;
    // Until there is nothing left to do on it.
    std::function<void(int fd, std::int32_t rail, const std::stop_token& stop)> run;
    // Called by a thread of the link, not when it was told to end. ConnectionLost, or another error of this
    // rank.
    std::function<void(const std::string&why)> lost, failed;
  };
  Neighbour(std::int32_t rails, Work work);
  ~Neighbour();  // ends what is under way
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
