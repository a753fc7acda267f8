// The traffic of congestors, ranks that only load the network. Each sends `load` bytes in chunks, two in
// flight; a stream's chunks alternate between two places in the receive buffer, so memory does not grow with
// the load. Or all run a collective operation again and again, by its usual algorithm for long vectors.
#pragma once

#include <cmath>
#include <vector>

#include "patterns/collective_algorithms.hpp"

namespace crosscut::patterns {

class Congestion {
 public:
  struct Kind {
    std::string_view name = "idle", label = name;
    void (Congestion::*emit)(std::vector<program::Op>& ops,
                             std::int64_t index) const = nullptr;  // idle: null
    const Operation* operation = nullptr;                          // a collective
  };
  // Returns all kinds but idle: those of GPCNeT and of its like, and the collective operations that carry
  // data.
  static std::vector<Kind> kinds() {
    std::vector<Kind> found{
        {.name = "incast", .emit = &Congestion::add_incast},
        {.name = "all-to-all", .emit = &Congestion::add_all_to_all},
        {.name = "one-way-storm", .label = "one-way storm", .emit = &Congestion::add_storm}};
    for (const Operation& one : operations())
      if (one.collective != program::Collective::barrier && one.collective != program::Collective::all_to_all)
        found.push_back({.name = one.name, .emit = &Congestion::add_collective, .operation = &one});
    return found;
  }

  Congestion(Kind kind, std::int64_t ranks, std::int64_t load_bytes, std::int64_t chunk_bytes,
             std::int64_t fan_in)
      : kind_(kind),
        ranks_(ranks),
        chunk_(chunk_bytes),
        chunks_((load_bytes + chunk_bytes - 1) / chunk_bytes),
        fan_in_(fan_in) {}

  std::string_view name() const { return kind_.label; }
  // Returns the buffer size that suffices for every congestor.
  std::int64_t buffer_bytes() const {
    if (kind_.operation != nullptr) return vector_bytes();
    return 2 * chunk_ * (kind_.emit == &Congestion::add_incast ? std::min(fan_in_, ranks_) : 1);
  }

  // Returns about how many messages a congestor sends or receives at most.
  std::int64_t messages() const {
    if (kind_.operation != nullptr)
      return operations_run() * messages_of(kind_.operation->for_long, static_cast<Rank>(ranks_));
    return kind_.emit == &Congestion::add_incast ? chunks_ * std::min(fan_in_, ranks_) : chunks_;
  }

  // Appends the operations of congestor `index`; their peers are indices of congestors, not ranks. Slot 0
  // times the last chunk sent, or the last operation: the rank caused congestion at least until then.
  void add(std::vector<program::Op>& ops, std::int64_t index) const {
    if (kind_.emit != nullptr) (this->*kind_.emit)(ops, index);
  }

 private:
  // Appends all chunks to or from one peer; `op` is the operation for a single chunk.
  void add_all(std::vector<program::Op>& ops, const program::Op& op, std::int64_t first_place = 0) const {
    Stream stream;
    for (std::int64_t i = 0; i < chunks_; ++i) stream.add(ops, chunk(op, i, first_place + stream.place()));
  }
  program::Op chunk(program::Op op, std::int64_t number, std::int64_t place) const {
    op.offset = place * chunk_;
    if (op.kind == program::Op::Kind::send && number == chunks_ - 1) {
      op.slot = 0;
      op.sample_bytes = chunks_ * chunk_;
    }
    return op;
  }
  // In each group of 1 + fan-in congestors, the others flood the first.
  void add_incast(std::vector<program::Op>& ops, std::int64_t index) const {
    const std::int64_t sink = index / (fan_in_ + 1) * (fan_in_ + 1);
    if (index != sink) return add_all(ops, send_to(static_cast<Rank>(sink), chunk_), 2 * (index - sink - 1));
    const std::int64_t sources = std::min(fan_in_, ranks_ - sink - 1);
    std::vector<Stream> streams(static_cast<std::size_t>(sources));
    for (std::int64_t i = 0; i < chunks_; ++i) {
      for (std::int64_t source = 0; source < sources; ++source) {
        Stream& stream = streams[static_cast<std::size_t>(source)];
        const std::int64_t place = 2 * source + stream.place();
        stream.add(ops, chunk(receive_from(static_cast<Rank>(sink + 1 + source), chunk_), i, place));
      }
    }
  }
  // Chunk i goes to the congestor 1 + i mod (n - 1) places further on, so each gets its share of chunks.
  void add_all_to_all(std::vector<program::Op>& ops, std::int64_t index) const {
    Stream sends, receives;
    for (std::int64_t i = 0; i < chunks_; ++i) {
      const std::int64_t distance = 1 + i % (ranks_ - 1);
      const Rank from = wrapped(index - distance, ranks_), to = wrapped(index + distance, ranks_);
      receives.add(ops, chunk(receive_from(from, chunk_), i, receives.place()));
      sends.add(ops, chunk(send_to(to, chunk_), i, sends.place()));
    }
  }
  // The lower half sends to the upper half, one way.
  void add_storm(std::vector<program::Op>& ops, std::int64_t index) const {
    const std::int64_t half = ranks_ / 2;
    if (index < half) return add_all(ops, send_to(static_cast<Rank>(index + half), chunk_));
    if (index < 2 * half) add_all(ops, receive_from(static_cast<Rank>(index - half), chunk_));
  }

  // A block for each congestor, but not more than the load.
  std::int64_t vector_bytes() const { return std::min(chunk_ * ranks_, chunk_ * chunks_); }
  // How often the operation runs until each congestor's link has carried the load.
  std::int64_t operations_run() const {
    const auto each = kind_.operation->share(static_cast<Rank>(ranks_)) * static_cast<double>(vector_bytes());
    return static_cast<std::int64_t>(std::ceil(static_cast<double>(chunk_ * chunks_) / each));
  }
  void add_collective(std::vector<program::Op>& ops, std::int64_t index) const {
    const std::int64_t times = operations_run();
    Rounds rounds(static_cast<Rank>(index), static_cast<Rank>(ranks_), vector_bytes(), false, ops);
    for (std::int64_t i = 0; i < times; ++i) {
      rounds.follow(vector_bytes());
      kind_.operation->for_long(rounds);
    }
    rounds.bytes = times * vector_bytes();  // what the sample counts
    rounds.finish();
  }

  Kind kind_;
  std::int64_t ranks_, chunk_, chunks_, fan_in_;
};

}  // namespace crosscut::patterns
