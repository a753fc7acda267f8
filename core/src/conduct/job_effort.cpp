// Records as an attribute of the run how much processor time measuring took on each rank.
#include <algorithm>

#include "conduct/job_run.hpp"

namespace crosscut::conduct {

void JobRun::remember_effort(std::int32_t size_index, const session::BlockOutcome& outcome) {
  const auto moved = [](const measure::Effort& one) { return one.sent_bytes + one.received_bytes > 0; };
  if (std::none_of(outcome.effort.begin(), outcome.effort.end(), moved)) return;  // null, sim
  auto& total = effort_[shape_.sizes[static_cast<std::size_t>(size_index)]];
  total.resize(outcome.effort.size());
  for (std::size_t rank = 0; rank < total.size(); ++rank) total[rank].add(outcome.effort[rank]);
}

// For each size, one list over ranks for each figure, so that a reader without crosscut gets columns as
// arrays.
json::Array JobRun::effort() const {
  json::Array sizes;
  for (const auto& [bytes, ranks] : effort_) {
    json::Array processor, elapsed, sent, received;
    for (const auto& one : ranks) {
      processor.emplace_back(one.processor_seconds);
      elapsed.emplace_back(one.elapsed_seconds);
      sent.emplace_back(one.sent_bytes);
      received.emplace_back(one.received_bytes);
    }
    sizes.emplace_back(json::Object{{"size", bytes},
                                    {"processor_seconds", std::move(processor)},
                                    {"elapsed_seconds", std::move(elapsed)},
                                    {"sent_bytes", std::move(sent)},
                                    {"received_bytes", std::move(received)}});
  }
  return sizes;
}

}  // namespace crosscut::conduct
