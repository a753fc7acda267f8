// The array as computing processes see it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data-server/patches.hpp"
#include "data-server/request.hpp"
#include "data-server/roles.hpp"
#include "data-server/waiting.hpp"
#include "npb/common/communicator.hpp"

namespace crosscut::data_server {

// How often something was done, and how long it took.
struct Tally {
  std::int64_t count = 0;
  double seconds = 0, slowest_seconds = 0;

  void add(double taken_seconds) {
    ++count;
    seconds += taken_seconds;
    slowest_seconds = taken_seconds > slowest_seconds ? taken_seconds : slowest_seconds;
  }
};

class DistributedArray {
 public:
  DistributedArray(Communicator& world, const Roles& roles, const Settings& settings);

  // Into `block`, column by column.
  void get(const Patch& patch, std::span<double> block);
  void add(const Patch& patch, std::span<const double> block);
  std::int64_t next_task();
  // Until the servers have done all that this process has asked for.
  void fence();
  void finish();

  const Tally& gets() const { return gets_; }
  const Tally& additions() const { return additions_; }
  // Of tasks' numbers, and of the fence.
  const Tally& others() const { return others_; }

 private:
  void ask(int server, const Request& request);

  Communicator& world_;
  Roles roles_;
  Distribution distribution_;
  Waiter waiter_;
  std::vector<MPI_Request> pending_;
  Tally gets_, additions_, others_;
};

}  // namespace crosscut::data_server
