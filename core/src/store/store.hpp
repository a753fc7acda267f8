// Writes a run, a Zarr v3 group (docs/reference/run-format.md). Only rank 0 has a store.
//
// Crash safety: the cells of a new inner chunk are on disk before its 16-byte index entry is written, and a
// block's status cells come last. Therefore every sample with status `measured` can be read. Its checksum is
// written with it, so readers see if it has changed since.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "program/program.hpp"

namespace crosscut::store {

enum class Status : std::uint8_t { unmeasured = 0, measured = 1, failed = 2, skipped = 3 };

// Statistics of a summary, in the order of its last dimension.
inline constexpr std::array<std::string_view, 5> statistics = {"count", "minimum", "median", "p99",
                                                               "maximum"};
using Summary = std::array<double, statistics.size()>;

// What a run keeps: all samples; a summary of each sample over the repetitions; or, if even that is too
// large, a summary of each phase over the ranks.
enum class Kept : std::uint8_t { samples, summaries, phase_summaries };

// Summary of one repetition of a phase over all its ranks.
struct PhaseSummary {
  Summary messages{}, ranks{};         // of measured message_seconds and rank_seconds
  std::int64_t moved_bytes = 0;        // sent or received by the busiest rank in samples, whichever is larger
  Status status = Status::unmeasured;  // measured: every rank has measured it
};

// A connection used by a run's messages, as seen by the rank that opened it.
struct Connection {
  Rank rank = 0, peer = 0;
  std::int32_t index = 0;  // within the route and rail: channel * connections per channel + stripe
  std::int32_t rail = 0;
  std::int32_t local_port = 0, remote_port = 0;
  friend bool operator==(const Connection&, const Connection&) = default;
};

// The unit in which samples are measured, gathered, written and resumed: half-open ranges of one size.
struct Block {
  std::int32_t size_index = 0;
  std::int64_t phase_first = 0, phase_end = 0;
  std::int64_t repetition_first = 0, repetition_end = 0;

  std::int64_t phases() const { return phase_end - phase_first; }
  std::int64_t repetitions() const { return repetition_end - repetition_first; }
  std::int64_t cells() const { return phases() * repetitions(); }
};

struct Shape {
  std::vector<std::int64_t> sizes;  // bytes
  std::int64_t repetitions = 0;     // the cap
  std::int64_t phases = 0;          // measured phases, numbered within the run (see coordinate `phase`)
  std::int64_t ranks = 0;
  std::int64_t slots = 0;
};

// Samples of one block, all ranks, in C order. The dimensions have the lengths of the block's ranges.
struct BlockData {
  Block block;
  std::vector<double> message_seconds;           // [repetition, phase, rank, slot]; NaN: no sample
  std::vector<double> rank_seconds;              // [repetition, phase, rank]
  std::vector<Status> status;                    // [repetition, phase, rank]
  std::vector<double> compute_fraction;          // [repetition, phase, rank]; empty: not requested
  std::vector<std::int64_t> message_lost_bytes;  // [repetition, phase, rank, slot]; empty: not lossy
  // [repetition, phase] from the start of the first rank to that of the last; NaN: unknown. Not read if the
  // run has no such array.
  std::vector<double> skew_seconds;
  std::vector<PhaseSummary> phases;  // [repetition, phase]; if not empty, replaces all above but the skew
};

// The samples of one phase, [rank, slot].
struct PhaseSamples {
  std::vector<std::int32_t> peer;   // -1: no sample
  std::vector<std::int64_t> bytes;  // -1: equal to `size`
};

// Coordinates, known before anything is measured. An empty vector is not written.
struct Coordinates {
  std::vector<std::int64_t> phase;       // [phase]; the pattern's phase numbers, from 1
  std::vector<std::string> phase_label;  // [phase]; attribute of the group if any is not empty
  // Returns the contents of `peer` and `bytes` for one phase (an index into `phase`), so that those of all
  // phases need not fit in memory. If not set, neither is written: they are implied.
  std::function<PhaseSamples(std::size_t phase)> samples;
  bool bytes_differ = false;           // true: some are not -1, so `bytes` is written
  std::vector<double> credited_bytes;  // [size, phase]; largest over ranks, or the phase's sum
  std::vector<std::int32_t> node;      // [rank]; index into attribute `nodes`
};

class Store {
 public:
  struct Options {
    Shape shape;
    Coordinates coordinates;
    json::Object attributes;  // group attributes; `schema`, `state`, `start` are added by the store
    bool compute = false, lossy = false;
    // resume() sets these to what the run has: older runs have neither.
    bool skew = false, checksums = true;
    Kept kept = Kept::samples;
  };
  // Creates the directory (which must not exist, or be empty) with all metadata and coordinates.
  static std::unique_ptr<Store> create(const std::filesystem::path& directory, Options options);
  // Opens a run to continue it; `options` is what the job requests now. Throws UsageError naming every
  // difference in the shape, the coordinates, and the attributes that must agree. With `force`, differences
  // that do not affect the arrays (nodes, backend, settings) are recorded in the attribute `resumed` instead.
  static std::unique_ptr<Store> resume(const std::filesystem::path& directory, Options options, bool force);
  virtual ~Store() = default;

  // Writes a block durably, its status last. Throws RunError with path and cause (disk full). With summaries,
  // the blocks of a phase must follow one another. They become durable with the phase's last repetition, or
  // when a block of another phase, set_repetitions_done() or finish() shows that no more will come.
  virtual void commit(const BlockData& data) = 0;
  // Returns [repetition, phase]: true if every rank is measured or skipped. Failed cells are measured again.
  virtual std::vector<bool> done(const Block& block) const = 0;
  virtual Kept kept() const = 0;
  // True with summaries over repetitions. Then all repetitions of a phase must be committed before those of
  // another, in blocks with the phases of largest_block(); done() also counts cells held in memory.
  bool phase_by_phase() const { return kept() == Kept::summaries; }
  // Returns the recorded iterations of a size (0: not yet known); set_iterations() records them durably.
  virtual std::int64_t iterations(std::int32_t size_index) const = 0;
  virtual void set_iterations(std::int32_t size_index, std::int64_t iterations) = 0;
  // Records the repetitions done, [phase]. Phases that this size does not have keep 0.
  virtual void set_repetitions_done(std::int32_t size_index, std::span<const std::int64_t> by_phase) = 0;
  // Reads the rank_seconds of a block that is done, for adaptive repetition after a resume: [repetition,
  // phase, rank]. Cells without data are NaN; with summaries, all are. With phase summaries, returns only
  // those of the slowest rank: [repetition, phase].
  virtual std::vector<double> read_rank_seconds(const Block& block) const = 0;
  // Returns the largest block that may start at (size, repetition, phase) without crossing an inner chunk.
  virtual Block largest_block(std::int32_t size_index, std::int64_t repetition, std::int64_t phase) const = 0;
  virtual const json::Value& attributes() const = 0;
  // Replaces attributes and rewrites the group's metadata atomically (rename). `state` is "running",
  // "complete", "stopped" or "failed".
  virtual void set_attributes(const json::Object& changed) = 0;
  virtual void finish(std::string_view state, const json::Object& changed) = 0;
};

}  // namespace crosscut::store
