// What the adapters of this node send in each phase. The messages of a library's collective operation are not
// known otherwise; crosscut's own algorithms, counted in the same way, tell which of them it sends like.
#pragma once

#include <map>
#include <utility>

#include "base/json.hpp"
#include "measure/machine.hpp"

namespace crosscut::measure {

class PhaseTraffic {
 public:
  // What is sent from here to the next call counts for no phase.
  void begin() { last_ = sent_by_adapters(); }
  // Only barriers were between the last call and this one. What they sent counts for no phase from here on.
  void idle() {
    const auto before = last_;
    begin();
    idle_ = {last_.bytes - before.bytes, last_.frames - before.frames};
  }
  // What was sent since the last call counts for `calls` runs of a phase with messages of `bytes`.
  void add(std::int64_t bytes, std::int64_t phase, std::int64_t calls) {
    const auto now = sent_by_adapters();
    auto& total = totals_[{bytes, phase}];
    total.calls += calls;
    total.sent.bytes += now.bytes - last_.bytes - idle_.bytes;
    total.sent.frames += now.frames - last_.frames - idle_.frames;
    last_ = now;
  }
  // Returns [[bytes of a message, phase (from 1), calls, bytes sent, frames sent], ...] and forgets them;
  // null if there are none.
  json::Value take() {
    json::Array all;
    for (const auto& [of, total] : std::exchange(totals_, {}))
      all.emplace_back(
          json::Array{of.first, of.second + 1, total.calls, total.sent.bytes, total.sent.frames});
    return all.empty() ? json::Value() : json::Value(std::move(all));
  }

 private:
  struct Total {
    std::int64_t calls = 0;
    Sent sent;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Total> totals_;  // [message bytes, phase]
  Sent last_, idle_;
};

}  // namespace crosscut::measure
