// While MPI starts, ends this process if the one that started it dies.
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/fd.hpp"

namespace crosscut::backends::mpi {

// MPICH spins forever if its launcher's process is killed between two steps of MPI_Init. Nothing can find
// such a rank later: the launcher gave it a session of its own.
class LauncherWatch {
 public:
  LauncherWatch() : launcher_(::getppid()), thread_([this](const std::stop_token& stop) { watch(stop); }) {}

  // Returns when the thread, which would disturb measurements, has ended.
  void end() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void watch(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      never_.wait_for(lock, stop, std::chrono::milliseconds(500), [] { return false; });
      if (::getppid() == launcher_ || stop.stop_requested()) continue;
      write_once(STDERR_FILENO, "crosscut-core-mpi: the launcher's process that started this rank is gone\n");
      ::_exit(1);
    }
  }

  pid_t launcher_;
  std::mutex mutex_;
  std::condition_variable_any never_;
  std::jthread thread_;  // after what it uses
};

}  // namespace crosscut::backends::mpi
