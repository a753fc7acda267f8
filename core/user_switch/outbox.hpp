// What the network hands over, until the host gets it: frames of one bundle that come out one after the other
// are handed over in one piece, when the last of them is due, as by an adapter that gathers what it receives
// (LRO, interrupt mitigation). Nothing waits longer than asked, nothing waits for what is not on its way, and
// what is alone does not wait at all.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "user_switch/frame_model.hpp"

namespace crosscut::user_switch {

using BundleId = std::uint32_t;

// Frames of a bundle, one behind the other.
struct Parcel {
  BundleId bundle = 0;
  std::int32_t first = 0, count = 0;
  Instant first_due = 0, last_due = 0;
  Instant when = 0;  // to be handed over: `last_due`, or when the first has waited as long as it may
};

class Outbox {
 public:
  // A bundle of so many frames has gone into the network; no frame is held back for longer than `hold`.
  void expect(BundleId bundle, std::int32_t frames, Instant hold);
  // In the order in which they come out. `due` may be yet to come.
  void add(BundleId bundle, std::int32_t number, Instant due);
  void lost(BundleId bundle);
  // The next that is due at `now`, in the order of time; false: none.
  bool take(Instant now, Parcel& parcel);
  // Nothing of it is in the network or here.
  bool is_done(BundleId bundle) const;
  Instant next_due() const { return due_.empty() ? never : due_.top().when; }
  std::int64_t frames_waiting() const { return waiting_; }

 private:
  struct Open {
    std::int32_t inside = 0;  // on their way
    std::int32_t here = 0;    // not yet taken
    Parcel gathered;          // count 0: none
    std::uint32_t turn = 0;   // of gathered parcels of this number, the latest
    Instant hold = 0;
  };
  struct Due {
    Instant when;
    std::uint64_t order;
    Parcel parcel;       // count 0: what is gathered by then
    std::uint32_t turn;  // of it
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
