// Which messages of a rank may start: not all of a phase can be under way at once.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "backends/tcp/connections.hpp"
#include "program/program.hpp"

namespace crosscut::backends::fabric {

// A message, or a part of one, that waits for its turn.
struct Pending {
  program::OpIndex index = 0;
  std::uint64_t tag = 0;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

// The messages of one direction with the same peer and channel, which start in the order of their posting.
struct Lane {
  Rank peer = 0;
  tcp::KeptQueue<Pending> waiting;
  std::size_t under_way = 0;
  bool closed = false;    // nothing may start before what is under way has ended
  bool expected = false;  // has messages in this phase
  bool listed = false;    // among those with waiting messages
};

// What an attempt to start a message led to.
enum class Start : std::uint8_t {
  under_way,  // it occupies a place until ended() is called
  over,       // it has already ended
  refused,    // try again later
};

// The turns of one direction. While a lane of the phase has nothing under way, a place is kept free for it,
// so that the first unfinished message between any two ranks is under way at both, and no order of posting
// leaves ranks waiting for each other in a circle. This holds for as many lanes as there are places.
class Turns {
 public:
  using Key = std::pair<Rank, std::uint8_t>;  // peer and channel

  // Forgets everything. At most `places` messages will be under way.
  void reset(std::size_t places);
  // At most this many, one or more, of a lane.
  void bound_lanes(std::size_t most) { most_of_lane_ = most; }
  // A phase begins in which these lanes have messages. None is under way.
  void begin_phase();
  void expect(Key key);

  void push(Key key, const Pending& pending);
  // Calls `attempt(lane, pending)`, which returns a Start, for each message whose turn it is. Returns false
  // if one was refused.
  template <class Attempt>
  bool start(Attempt attempt) {
    bool all = true;
    std::erase_if(listed_, [&](Lane* lane) {
      while (!lane->waiting.empty() && may_start(*lane)) {
        const auto result = attempt(*lane, lane->waiting.front());
        if (result == Start::refused) {
          all = false;
          return false;
        }
        if (result == Start::under_way) occupy(*lane);
        lane->waiting.pop();
      }
      if (!lane->waiting.empty()) return false;
      lane->listed = false;
      return true;
    });
    return all;
  }
  void ended(Lane& lane);

  // Returns a lane with a message that has not ended, preferably one that is under way; null if all have.
  const Lane* unfinished() const;

 private:
  Lane& lane(Key key);
  bool may_start(const Lane& lane) const {
    if (lane.closed || lane.under_way >= most_of_lane_) return false;
    return lane.under_way == 0 ? free_ > 0 : free_ > idle_;
  }
  void occupy(Lane& lane);

  std::map<Key, Lane> lanes_;  // never moves a lane
  std::vector<Lane*> listed_, expected_;
  std::size_t most_of_lane_ = std::numeric_limits<std::size_t>::max();
  std::size_t free_ = 0, idle_ = 0;  // places; expected lanes without a message under way
};

}  // namespace crosscut::backends::fabric
