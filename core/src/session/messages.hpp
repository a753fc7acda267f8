// Payloads of the frames between conductor and ranks (wire.hpp), written and read in one place.
#pragma once

#include <string>
#include <vector>

#include "measure/backend.hpp"
#include "session/barrier_tree.hpp"
#include "session/rank_group.hpp"
#include "session/wire.hpp"

namespace crosscut::session {

// From a rank that has connected.
struct Joined {
  std::string node;                    // identity of the node
  std::string facts;                   // JSON of node_facts
  std::vector<std::string> listeners;  // one address a rail
};

// From the conductor, once all ranks have joined and again whenever one is lost.
struct Welcome {
  std::uint32_t epoch = 0;
  std::vector<Rank> living;
  std::vector<std::vector<std::string>> listeners;  // [rail][rank]; first welcome only
  std::vector<std::int32_t> node;                   // [rank]; first welcome only
};

// From a rank, once its barrier is built: clock offset and times of leaving trial barriers.
struct Ready {
  BarrierTree::ClockOffset offset;
  std::vector<std::int64_t> exits;  // this rank's clock on leaving each trial barrier, ns
  std::string facts;                // JSON object; may be empty
};

// From the conductor: an order to measure one block.
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

// Throws RunError unless the payload holds exactly one message.
template <class T>
T unpack(std::span<const std::byte> payload);

}  // namespace crosscut::session
