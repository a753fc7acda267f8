// Queues in which a host's frames wait for its link: one for each connection with frames waiting. The
// acknowledgements of one connection need not wait behind all of another, nor forwarded frames behind the
// host's own. Queues go by the whole flow, not by a few bits of it: two flows that shared a queue would not
// take turns.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "user_switch/frame_model.hpp"

namespace crosscut::user_switch {

class HostQueues {
 public:
  // Returns the queue of a flow (ethernet.hpp: flow_of). The flow keeps it while frames of it wait; then
  // another flow may get it. There are never more queues than flows that waited at the same time.
  QueueId of(std::uint64_t flow, FrameModel& model) {
    if (const auto found = by_flow_.find(flow); found != by_flow_.end()) return found->second;
    if (free_.empty()) free_empty(model);
    if (free_.empty()) free_.push_back(model.add_queue({}));
    const auto queue = free_.back();
    free_.pop_back();
    by_flow_.emplace(flow, queue);
    return queue;
  }

 private:
  void free_empty(const FrameModel& model) {
    std::erase_if(by_flow_, [&](const auto& entry) {
      const bool is_empty = model.queued_bytes(entry.second) == 0;
      if (is_empty) free_.push_back(entry.second);
      return is_empty;
    });
  }

  std::unordered_map<std::uint64_t, QueueId> by_flow_;
  std::vector<QueueId> free_;
};

}  // namespace crosscut::user_switch
