// The run on disk, written: a Zarr v3 group (docs/reference/run-format.md). Only rank 0 has one.
//
// Crash safety: data is written and fdatasync'ed before the 16-byte index entry of its inner chunk, and a
// block's status cells last of all; so whatever the status says is measured can be read, always.
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

// Statistics of a summary, in this order along its last dimension.
inline constexpr std::array<std::string_view, 5> statistics = {"count", "minimum", "median", "p99",
                                                               "maximum"};
using Summary = std::array<double, statistics.size()>;

// What a run keeps of its samples: all; a summary over the repetitions of each; or a summary over the ranks
// of each phase, where even those would be too many.
enum class Kept : std::uint8_t { samples, summaries, phase_summaries };

// One repetition of a phase, over all its ranks.
struct PhaseSummary {
  Summary messages{}, ranks{};   // of message_seconds and rank_seconds that were measured
  std::int64_t moved_bytes = 0;  // that the busiest rank sends or receives in samples, whichever is more
  Status status = Status::unmeasured;  // measured: by every rank
};

// The unit of agreement, gathering, writing and resuming: half-open ranges within one size.
struct Block {
  std::int32_t size_index = 0;
  std::int64_t phase_first = 0, phase_end = 0;
  std::int64_t repetition_first = 0, repetition_end = 0;
};

struct Shape {
  std::vector<std::int64_t> sizes;  // bytes
  std::int64_t repetitions = 0;     // the cap
  std::int64_t phases = 0;          // phases measured (the run's own numbering, see phase coordinate)
  std::int64_t ranks = 0;
  std::int64_t slots = 0;
};

// Samples of one block, all ranks; C order, the ranges of the block in place of whole dimensions.
struct BlockData {
  Block block;
  std::vector<double> message_seconds;           // [repetition, phase, rank, slot], NaN where there is none
  std::vector<double> rank_seconds;              // [repetition, phase, rank]
  std::vector<Status> status;                    // [repetition, phase, rank]
  std::vector<double> compute_fraction;          // [repetition, phase, rank]; empty: not asked for
  std::vector<std::int64_t> message_lost_bytes;  // [repetition, phase, rank, slot]; empty: not lossy
  std::vector<PhaseSummary> phases;              // [repetition, phase]; if not empty, in place of all above
};

// The samples of one phase, [rank, slot].
struct PhaseSamples {
  std::vector<std::int32_t> peer;   // -1: no sample
  std::vector<std::int64_t> bytes;  // -1: equal to `size`
};

// Coordinates, known before anything is measured. An empty vector: not written.
struct Coordinates {
  std::vector<std::int64_t> phase;       // [phase] the pattern's phase numbers, from 1
  std::vector<std::string> phase_label;  // [phase]; attribute of the group when any is not empty
  // What `peer` and `bytes` hold, asked for phase by phase (index into `phase`): nobody has phases x ranks in
  // memory. Empty: neither is written (implied).
  std::function<PhaseSamples(std::size_t phase)> samples;
  bool bytes_differ = false;           // some are not -1, hence `bytes` is written
  std::vector<double> credited_bytes;  // [size, phase], of the rank credited most, or the phase's sum
  std::vector<std::int32_t> node;      // [rank] index into attribute `nodes`
};

class Store {
 public:
  struct Options {
    Shape shape;
    Coordinates coordinates;
    json::Object attributes;  // group attributes; `schema`, `state`, `start` are added by the store
    bool compute = false, lossy = false;
    Kept kept = Kept::samples;
  };
  // Makes the directory (it must not exist, or be an empty directory) with all metadata and the coordinates.
  static std::unique_ptr<Store> create(const std::filesystem::path& directory, Options options);
  // Opens a run to go on with it. `options` is what the job asks for now; throws UsageError naming every
  // difference in shape, coordinates or attributes that must agree. With `force` those that leave the arrays
  // alone (nodes, backend, settings) are recorded in the attribute `resumed` instead.
  static std::unique_ptr<Store> resume(const std::filesystem::path& directory, Options options, bool force);
  virtual ~Store() = default;

  // Durable when it returns; status last. Throws RunError with path and cause (disk full). With summaries
  // the blocks of a phase must follow one another; they become durable with its last repetition, or when
  // another phase, set_repetitions_done or finish shows that no more will come.
  virtual void commit(const BlockData& data) = 0;
  // Which cells of a block are already measured or skipped (failed ones are measured again): true where
  // nothing is to be done, [repetition, phase], all ranks together.
  virtual std::vector<bool> done(const Block& block) const = 0;
  virtual Kept kept() const = 0;
  // True with summaries of repetitions: all repetitions of a phase must be committed before another phase's,
  // in blocks of the phases that largest_block names; `done` then counts what is held in memory for it.
  bool phase_by_phase() const { return kept() == Kept::summaries; }
  // Recorded iterations of a size (0: not yet known) and how to record them; durable.
  virtual std::int64_t iterations(std::int32_t size_index) const = 0;
  virtual void set_iterations(std::int32_t size_index, std::int64_t iterations) = 0;
  // Of the first phases; those that a size does not have keep 0.
  virtual void set_repetitions_done(std::int32_t size_index, std::span<const std::int64_t> by_phase) = 0;
  // Reads back rank_seconds of a block that is done, for adaptive repetition after a resume; NaN where
  // nothing is stored, hence everywhere with summaries. With phase summaries of the slowest rank alone:
  // [repetition, phase].
  virtual std::vector<double> read_rank_seconds(const Block& block) const = 0;
  // The largest block that may start at (size, repetition, phase): it does not straddle an inner chunk.
  virtual Block largest_block(std::int32_t size_index, std::int64_t repetition, std::int64_t phase) const = 0;
  // Replaces attributes and rewrites the group's metadata atomically (rename). `state`: "running",
  // "complete", "stopped", "failed".
  virtual void set_attributes(const json::Object& changed) = 0;
  virtual void finish(std::string_view state, const json::Object& changed) = 0;
};

}  // namespace crosscut::store
