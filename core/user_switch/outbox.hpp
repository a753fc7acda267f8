// Holds frames that have left the network until their host gets them. Consecutive frames of a bundle are
// delivered in one piece when the last of them is due, like an adapter that gathers what it receives (LRO,
// interrupt mitigation). No frame waits longer than `hold`, or for frames that are not in the network; a
// single frame does not wait at all.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "user_switch/frame_model.hpp"

namespace crosscut::user_switch {

using BundleId = std::uint32_t;

// Consecutive frames of a bundle.
struct Parcel {
  BundleId bundle = 0;
  std::int32_t first = 0, count = 0;
  Instant first_due = 0, last_due = 0;
  Instant when = 0;  // time of delivery: `last_due`, or when the first has waited long enough
};

class Outbox {
 public:
  // Announces a bundle of `frames` frames. No frame is held back longer than `hold`.
  void expect(BundleId bundle, std::int32_t frames, Instant hold);
  // Adds a frame, in the order in which frames leave the network. `due` may lie in the future.
  void add(BundleId bundle, std::int32_t number, Instant due);
  void lost(BundleId bundle);
  // Takes the next parcel due at `now`, in order of time. Returns false if there is none.
  bool take(Instant now, Parcel& parcel);
  // Returns true if none of the bundle's frames is in the network or here.
  bool is_done(BundleId bundle) const;
  Instant next_due() const { return due_.empty() ? never : due_.top().when; }
  std::int64_t frames_waiting() const { return waiting_; }

 private:
  struct Open {
    std::int32_t inside = 0;  // in the network
    std::int32_t here = 0;    // not yet taken
    Parcel gathered;          // count 0: none
    std::uint32_t turn = 0;   // number of the latest gathered parcel
    Instant hold = 0;
  };
  struct Due {
    Instant when;
    std::uint64_t order;
    Parcel parcel;       // count 0: whatever is gathered by then
    std::uint32_t turn;  // of the parcel
    bool operator>(const Due& other) const {
      return std::tie(when, order) > std::tie(other.when, other.order);
    }
  };

  void close(Open& open);

  std::vector<Open> open_;                                          // [bundle]
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;  // the earliest on top
  std::uint64_t order_ = 0;
  std::int64_t waiting_ = 0;
};

}  // namespace crosscut::user_switch
