// The queues in which what a host sends waits for its link: one for each connection that has anything
// waiting, so that what acknowledges one does not wait behind all of another, and what a host forwards not
// behind its own. By the whole flow, not a few bits of it: two that shared a queue by chance would have no
// turns at all.
#pragma once

#include <cstdint>
#include <vector>

#include "frame_model.hpp"

namespace crosscut::frames {

class HostQueues {
 public:
  // That of a flow (ethernet.hpp: flow_of). Its own for as long as anything of it waits; then another flow
  // may get it. There are never more than flows that waited at one time.
  QueueId of(std::uint64_t flow, FrameModel& model) {
    const Entry* empty = nullptr;
    for (const auto& entry : entries_) {
      if (entry.flow == flow) return entry.queue;
      if (model.queued_bytes(entry.queue) == 0) empty = &entry;
    }
    if (empty == nullptr) {
      entries_.push_back({.flow = flow, .queue = model.add_queue({})});
      return entries_.back().queue;
    }
    const auto queue = empty->queue;
    entries_[static_cast<std::size_t>(empty - entries_.data())].flow = flow;
    return queue;
  }

 private:
  struct Entry {
    std::uint64_t flow = 0;
    QueueId queue = 0;
  };
  std::vector<Entry> entries_;
};

}  // namespace crosscut::frames
