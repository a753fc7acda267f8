// The traffic of congestors, ranks that only load the network. Each sends `load` bytes in chunks, two in
// flight. A stream's chunks alternate between two places in the receive buffer, so memory does not grow with
// the load.
#pragma once

#include <vector>

#include "patterns/operations.hpp"

namespace crosscut::patterns {

class Congestion {
 public:
  enum class Kind { none, incast, all_to_all, storm };

  Congestion(Kind kind, std::int64_t ranks, std::int64_t load_bytes, std::int64_t chunk_bytes,
             std::int64_t fan_in)
      : kind_(kind),
        ranks_(ranks),
        chunk_(chunk_bytes),
        chunks_((load_bytes + chunk_bytes - 1) / chunk_bytes),
        fan_in_(fan_in) {}

  // Returns the buffer size that suffices for every congestor.
  std::int64_t buffer_bytes() const { return 2 * chunk_ * (kind_ == Kind::incast ? fan_in_ : 1); }

  // Appends the operations of congestor `index`; their peers are indices of congestors, not ranks. Slot 0
  // times the last chunk sent: the rank caused congestion at least until then.
  void add(std::vector<program::Op>& ops, std::int64_t index) const {
    if (kind_ == Kind::incast) add_incast(ops, index);
    if (kind_ == Kind::all_to_all) add_all_to_all(ops, index);
    if (kind_ == Kind::storm) add_storm(ops, index);
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

  Kind kind_;
  std::int64_t ranks_, chunk_, chunks_, fan_in_;
};

}  // namespace crosscut::patterns
