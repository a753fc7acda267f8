#include "backends/fabric/turns.hpp"

namespace crosscut::backends::fabric {

void Turns::reset(std::size_t places) {
  listed_.clear();
  expected_.clear();
  lanes_.clear();
  free_ = places;
  idle_ = 0;
}

void Turns::begin_phase() {
  for (auto* lane : expected_) lane->expected = false;
  expected_.clear();
  idle_ = 0;
}

void Turns::expect(Key key) {
  auto& one = lane(key);
  if (std::exchange(one.expected, true)) return;
  expected_.push_back(&one);
  ++idle_;
}

void Turns::push(Key key, const Pending& pending) {
  auto& one = lane(key);
  one.waiting.push(pending);
  if (!std::exchange(one.listed, true)) listed_.push_back(&one);
}

void Turns::occupy(Lane& lane) {
  --free_;
  if (lane.under_way++ == 0 && lane.expected) --idle_;
}

void Turns::ended(Lane& lane) {
  ++free_;
  if (--lane.under_way == 0 && lane.expected) ++idle_;
}

const Lane* Turns::unfinished() const {
  const Lane* waits = nullptr;
  for (const auto& [key, one] : lanes_) {
    if (one.under_way > 0) return &one;
    if (one.listed) waits = &one;
  }
  return waits;
}

Lane& Turns::lane(Key key) {
  const auto [at, is_new] = lanes_.try_emplace(key);
  if (is_new) at->second.peer = key.first;
  return at->second;
}

}  // namespace crosscut::backends::fabric
