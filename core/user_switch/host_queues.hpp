// The queues in which what a host sends waits for its link: one for each connection that has anything
// waiting, so that what acknowledges one does not wait behind all of another, and what a host forwards not
// behind its own. By the whole flow, not a few bits of it: two that shared a queue by chance would have no
// turns at all.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "user_switch/frame_model.hpp"

namespace crosscut::user_switch {

class HostQueues {
 public:
  // The queue of a flow (ethernet.hpp: flow_of). Its own for as long as anything of it waits; then another
  // flow may get it. There are never more than flows that waited at one time.
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
