// What the frames between conductor and ranks carry (wire.hpp), written and read in one place.
#pragma once

#include <string>
#include <vector>

#include "measure/backend.hpp"
#include "session/barrier_tree.hpp"
#include "session/rank_group.hpp"
#include "session/wire.hpp"

namespace crosscut::session {

// rank: I am here.
struct Joined {
  std::string node;                    // identity of the node
  std::string facts;                   // JSON of node_facts
  std::vector<std::string> listeners;  // one address a rail
};

// conductor: all are here; and again whenever a rank is lost.
struct Welcome {
  std::uint32_t epoch = 0;
  std::vector<Rank> living;
  std::vector<std::vector<std::string>> listeners;  // [rail][rank]; only in the first
  std::vector<std::int32_t> node;                   // [rank]; only in the first
};

// rank: the barrier stands; how clocks and ranks leave it.
struct Ready {
  BarrierTree::ClockOffset offset;
  std::vector<std::int64_t> exits;  // nanoseconds of this rank's clock at which it left each trial barrier
  std::string facts;                // JSON object; may be empty
};

// conductor: measure this.
struct RunOrder {
  std::uint32_t epoch = 0;
  BlockRequest request;
  std::vector<Rank> lost;
};

struct Complaint {
  Rank peer = -1;
  std::string reason;
};

struct Refusal {
  bool usage = false;
  std::string message;
};

std::vector<std::byte> pack(const Joined& message);
std::vector<std::byte> pack(const Welcome& message);
std::vector<std::byte> pack(const Ready& message);
std::vector<std::byte> pack(const RunOrder& message);
std::vector<std::byte> pack(const Complaint& message);
std::vector<std::byte> pack(const Refusal& message);
std::vector<std::byte> pack(const measure::RankSamples& message);

// Each throws RunError when the payload does not hold exactly one message.
template <class T>
T unpack(std::span<const std::byte> payload);

}  // namespace crosscut::session
