// Payloads of the frames between conductor and ranks (wire.hpp). `members` lists a message's members in wire
// order, for writing and reading alike.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

#include "measure/backend.hpp"
#include "session/address_book.hpp"
#include "session/barrier_tree.hpp"
#include "session/rank_group.hpp"
#include "session/wire.hpp"

namespace crosscut::session {

// Matches one message type, const (for writing) or not (for reading).
template <class T, class Message>
concept Either = std::same_as<std::remove_const_t<T>, Message>;

// Sent by a rank once it has connected.
struct Joined {
  std::string node;                    // identity of the node
  std::string facts;                   // JSON of node_facts; empty: another rank of this node tells them
  std::vector<std::string> listeners;  // one address per rail
  std::int32_t core = -1;              // that the rank is bound to; -1: it may use several
  bool far = false;                    // it may use cores that are not near its adapters
};
void members(Either<Joined> auto& message, auto&& take) {
  take(message.node, message.facts, message.listeners, message.core, message.far);
}

// Sent by the conductor once all ranks have joined, and again whenever one is lost.
struct Welcome {
  std::uint32_t epoch = 0;
  std::vector<Rank> lost;              // sorted
  std::vector<AddressBook> listeners;  // [rail]; first welcome only
  std::vector<std::int32_t> node;      // [rank]; first welcome only
};
void members(Either<AddressBook> auto& book, auto&& take) { take(book.hosts, book.host, book.port); }
void members(Either<Welcome> auto& message, auto&& take) {
  take(message.epoch, message.lost, message.node, message.listeners);
}

// Sent by a rank once its barrier is built. Later `ready` frames carry only `facts`.
struct Ready {
  double clock_uncertainty_seconds = 0;  // of the comparison with the root's clock
  std::string facts;                     // JSON object; may be empty
};
void members(Either<Ready> auto& message, auto&& take) {
  take(message.clock_uncertainty_seconds, message.facts);
}

// Sent by the conductor: an order to measure one block.
struct RunOrder {
  std::uint32_t epoch = 0;
  BlockRequest request;
  std::vector<Rank> lost;
};
// Leaves out `request.summarise`, which concerns the conductor only.
void members(Either<RunOrder> auto& message, auto&& take) {
  auto& request = message.request;
  auto& block = request.block;
  take(message.epoch, request.bytes, block.size_index, block.phase_first, block.phase_end,
       block.repetition_first, block.repetition_end, request.iterations, message.lost);
}

// Sent by a rank: the peer it lost, or was waiting for when the block was aborted (-1: unknown), and the
// reason.
struct Complaint {
  Rank peer = -1;
  std::string reason;
};
void members(Either<Complaint> auto& message, auto&& take) { take(message.peer, message.reason); }

// Sent by a rank that cannot do what was asked.
struct Refusal {
  bool usage = false;  // true: report it as a UsageError, not a RunError
  std::string message;
};
void members(Either<Refusal> auto& message, auto&& take) { take(message.usage, message.message); }

// Sent by a rank: the samples of the block that it was ordered to measure.
void members(Either<measure::WrongByte> auto& byte, auto&& take) {
  take(byte.source, byte.destination, byte.phase, byte.bytes, byte.offset, byte.expected, byte.found);
}
void members(Either<store::Connection> auto& one, auto&& take) {
  take(one.rank, one.peer, one.index, one.rail, one.local_port, one.remote_port);
}
void members(Either<measure::RankSamples> auto& samples, auto&& take) {
  take(samples.message_seconds, samples.rank_seconds, samples.status, samples.compute_fraction,
       samples.message_lost_bytes, samples.started, samples.wrong, samples.wrong_count);
  auto& effort = samples.effort;
  take(effort.processor_seconds, effort.elapsed_seconds, effort.sent_bytes, effort.received_bytes);
  take(samples.connections);
}

// The entries that travel up the tree, one after the other.
struct RankEntry {
  Rank rank = -1;
  measure::RankSamples samples;
};
void members(Either<RankEntry> auto& entry, auto&& take) { take(entry.rank, entry.samples); }

template <class T>
void write(Writer& writer, const T& value) {
  if constexpr (requires { writer.add(value); }) {
    writer.add(value);
  } else if constexpr (requires { value.size(); }) {
    writer.add(static_cast<std::uint64_t>(value.size()));
    for (const auto& item : value) write(writer, item);
  } else {
    members(value, [&](const auto&... member) { (write(writer, member), ...); });
  }
}

template <class T>
void read(Reader& reader, T& value) {
  if constexpr (requires { reader.get(value); }) {
    reader.get(value);
  } else if constexpr (requires { value.emplace_back(); }) {
    // Append one by one: every item consumes bytes, so a false count cannot exhaust memory.
    for (auto left = reader.get<std::uint64_t>(); left > 0; --left) read(reader, value.emplace_back());
  } else {
    members(value, [&](auto&... member) { (read(reader, member), ...); });
  }
}

template <class Message>
std::vector<std::byte> pack(const Message& message) {
  Writer writer;
  write(writer, message);
  return {writer.bytes().begin(), writer.bytes().end()};
}

// Parses the JSON text that a frame carries.
inline json::Value unpack_json(const Frame& frame) {
  return json::parse(Reader(frame.payload).get<std::string>());
}

// Unpacks a payload. Throws RunError unless it holds exactly one message.
template <class Message>
Message unpack(std::span<const std::byte> payload) {
  Reader reader(payload);
  Message message;
  read(reader, message);
  if (!reader.at_end())
    throw RunError("a message is longer than expected; install the same version of crosscut on every node");
  return message;
}

}  // namespace crosscut::session
