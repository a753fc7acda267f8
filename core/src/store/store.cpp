#include "store/store.hpp"

#include <algorithm>
#include <limits>

#include "base/crc32c.hpp"
#include "base/error.hpp"
#include "store/zarr_store.hpp"

namespace crosscut::store {
namespace {

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

bool all_done(std::span<const Status> status) {
  return std::ranges::all_of(status, [](Status s) { return s == Status::measured || s == Status::skipped; });
}

void check_count(std::string_view what, std::size_t found, std::int64_t expected) {
  if (std::cmp_not_equal(found, expected))
    throw RunError("internal error: " + std::string(what) + " has " + std::to_string(found) +
                   " values, expected " + std::to_string(expected) + "; please report it");
}

}  // namespace

ZarrStore::ZarrStore(File lock, Options options, json::Object attributes)
    : lock_(std::move(lock)),
      directory_(lock_.path()),
      options_(std::move(options)),
      attributes_(std::move(attributes)),
      layouts_(array_layouts(options_)),
      checked_(checked_arrays(layouts_)),
      grid_(chunk_grid(options_.shape, options_.kept)),
      status_array_(options_.kept == Kept::phase_summaries ? "phase_status" : "status"),
      status_cells_(options_.kept == Kept::phase_summaries ? 1 : options_.shape.ranks),
      shards_(directory_, layouts_),
      summaries_(options_.shape),
      iterations_(read_numbers("iterations")),
      repetitions_done_(read_numbers("repetitions_done")),
      closed_(options_.shape.sizes.size() * index(options_.shape.phases)) {}

void ZarrStore::check_size(std::int32_t size_index) const {
  if (size_index < 0 || std::cmp_greater_equal(size_index, options_.shape.sizes.size()))
    throw RunError("internal error: there is no size " + std::to_string(size_index) + "; please report it");
}

void ZarrStore::check_block(const Block& block) const {
  check_size(block.size_index);
  if (block.phase_first < 0 || block.phase_first >= block.phase_end ||
      block.phase_end > options_.shape.phases || block.repetition_first < 0 ||
      block.repetition_first >= block.repetition_end || block.repetition_end > options_.shape.repetitions)
    throw RunError("internal error: a block lies outside its run; please report it");
}

void ZarrStore::check(const BlockData& data) const {
  const Block& block = data.block;
  check_block(block);
  const std::int64_t cells = block.cells() * options_.shape.ranks;
  check_count("message_seconds", data.message_seconds.size(), cells * options_.shape.slots);
  check_count("rank_seconds", data.rank_seconds.size(), cells);
  check_count("status", data.status.size(), cells);
  check_count("compute_fraction", data.compute_fraction.size(), options_.compute ? cells : 0);
  check_count("message_lost_bytes", data.message_lost_bytes.size(),
              options_.lossy ? cells * options_.shape.slots : 0);
}

// Appends the arrays that only some runs have, with cells of single repetitions.
void ZarrStore::add_optional(const BlockData& data, std::vector<Piece>& pieces) const {
  if (options_.compute) pieces.push_back({"compute_fraction", data.block, bytes_of(data.compute_fraction)});
  if (options_.lossy) pieces.push_back({"message_lost_bytes", data.block, bytes_of(data.message_lost_bytes)});
  if (!options_.skew) return;
  check_count("skew_seconds", data.skew_seconds.size(), data.block.cells());
  pieces.push_back({"skew_seconds", data.block, bytes_of(data.skew_seconds)});
}

void ZarrStore::commit(const BlockData& data) {
  if (options_.kept == Kept::phase_summaries) return commit_phases(data);
  check(data);
  if (options_.kept == Kept::summaries) return commit_summed(data);
  std::vector<Piece> pieces{{"message_seconds", data.block, bytes_of(data.message_seconds)},
                            {"rank_seconds", data.block, bytes_of(data.rank_seconds)}};
  add_optional(data, pieces);
  write_samples(std::move(pieces), data.block);
  write(std::array{Piece{"status", data.block, bytes_of(data.status)}});
}

void ZarrStore::commit_phases(const BlockData& data) {
  check_block(data.block);
  check_count("phase summaries", data.phases.size(), data.block.cells());
  const auto column = [&data]<typename T>(T PhaseSummary::*member) {
    std::vector<T> values;
    for (const PhaseSummary& phase : data.phases) values.push_back(phase.*member);
    return values;
  };
  const auto messages = column(&PhaseSummary::messages), ranks = column(&PhaseSummary::ranks);
  const auto moved = column(&PhaseSummary::moved_bytes);
  const auto status = column(&PhaseSummary::status);
  std::vector<Piece> pieces{{"phase_message_summary", data.block, bytes_of(messages)},
                            {"phase_rank_summary", data.block, bytes_of(ranks)},
                            {"phase_moved_bytes", data.block, bytes_of(moved)}};
  add_optional(data, pieces);
  write_samples(std::move(pieces), data.block);
  write(std::array{Piece{"phase_status", data.block, bytes_of(status)}});
}

// The order is a contract: cells of new chunks, sync, their index entries, sync.
void ZarrStore::write(std::span<const Piece> pieces) {
  for (const auto& [array, block, cells] : pieces) {
    Shard& shard = shards_.get(array, block.size_index);
    const std::vector<std::int64_t> invisible = shard.write(block, cells);
    if (invisible.empty()) continue;
    shard.sync();
    shard.publish(invisible);
  }
  for (const auto& [array, block, cells] : pieces) shards_.get(array, block.size_index).sync();
}

// Writes what was measured in a block, with its checksums. Cells that failed are measured again: until their
// new samples are whole, their old status must not vouch for them.
void ZarrStore::write_samples(std::vector<Piece> pieces, const Block& block) {
  const std::vector<Status> before = read_status(block);
  const std::vector<Status> none(before.size());
  if (before != none) write(std::array{Piece{status_array_, block, bytes_of(none)}});
  std::vector<std::uint32_t> checksums;
  if (options_.checksums) {
    checksums = checksums_of(pieces, block);
    pieces.push_back({"checksum", block, bytes_of(checksums)});
  }
  write(pieces);
}

// Returns [repetition, phase, array]. Arrays without repetitions have theirs in the first.
std::vector<std::uint32_t> ZarrStore::checksums_of(std::span<const Piece> pieces, const Block& block) const {
  const std::int64_t arrays = std::ssize(checked_);
  std::vector<std::uint32_t> checksums(index(block.cells() * arrays));
  for (const auto& [array, part, cells] : pieces) {
    const std::int64_t place = std::ranges::find(checked_, array) - checked_.begin();
    const std::size_t cell_bytes = cells.size() / index(part.cells());
    std::size_t at = 0;
    for (std::int64_t r = part.repetition_first; r < part.repetition_end; ++r)
      for (std::int64_t p = part.phase_first; p < part.phase_end; ++p, at += cell_bytes) {
        const std::int64_t cell = (r - block.repetition_first) * block.phases() + p - block.phase_first;
        checksums[index(cell * arrays + place)] = crc32c(cells.subspan(at, cell_bytes));
      }
  }
  return checksums;
}

// Throws RunError if a measured cell that was read differs from its checksum.
void ZarrStore::verify(const Piece& piece) const {
  if (!options_.checksums) return;
  const Shard* shard = shards_.find("checksum", piece.block.size_index);
  if (shard == nullptr) return;
  const std::vector<Status> status = read_status(piece.block);
  const std::vector<std::uint32_t> found = checksums_of(std::array{piece}, piece.block);
  std::vector<std::uint32_t> recorded(found.size());
  shard->read(piece.block, std::as_writable_bytes(std::span(recorded)));
  const auto arrays = checked_.size();
  const auto place = index(std::ranges::find(checked_, piece.array) - checked_.begin());
  for (std::size_t cell = 0; cell * arrays < found.size(); ++cell) {
    const auto ranks = std::span(status).subspan(cell * index(status_cells_), index(status_cells_));
    if (found[cell * arrays + place] == recorded[cell * arrays + place]) continue;
    if (std::ranges::find(ranks, Status::measured) == ranks.end()) continue;
    throw RunError(chunk_path(directory_, shards_.layout(piece.array), piece.block.size_index).string() +
                   " differs from its checksums; run `crosscut fsck` to see what is lost and "
                   "`crosscut fsck --repair` to mark it for measuring again");
  }
}

void ZarrStore::commit_summed(const BlockData& data) {
  if (!summaries_.continues(data.block)) {
    flush_summaries();
    if (data.block.repetition_first != 0)
      throw RunError(
          "internal error: with summaries, repetitions of a phase must follow one another; please report it");
  }
  summaries_.add(data);
  if (data.block.repetition_end == options_.shape.repetitions) flush_summaries();
}

void ZarrStore::flush_summaries() {
  if (summaries_.empty()) return;
  const auto messages = summaries_.summarised(&BlockData::message_seconds, options_.shape.slots);
  const auto ranks = summaries_.summarised(&BlockData::rank_seconds, 1);
  Block all = summaries_.extent();
  reopen(all.size_index, all.phase_first, all.phase_end);
  all.repetition_end = 1;  // these arrays have no repetitions
  std::vector<Piece> pieces{{"message_summary", all, bytes_of(messages)},
                            {"rank_summary", all, bytes_of(ranks)}};
  for (const BlockData& data : summaries_.blocks()) add_optional(data, pieces);
  write_samples(std::move(pieces), summaries_.extent());
  std::vector<Piece> status;
  for (const BlockData& data : summaries_.blocks())
    status.push_back({"status", data.block, bytes_of(data.status)});
  write(status);
  summaries_.clear();
}

std::vector<Status> ZarrStore::read_status(const Block& block) const {
  std::vector<Status> status(index(block.cells() * status_cells_));
  if (const Shard* shard = shards_.find(status_array_, block.size_index))
    shard->read(block, std::as_writable_bytes(std::span(status)));
  return status;
}

// Reads a few phases at a time, since the status of all phases and ranks may not fit in memory.
std::vector<bool> ZarrStore::done(const Block& block) const {
  check_size(block.size_index);
  if (options_.kept == Kept::summaries) return summaries_done(block);
  constexpr std::int64_t piece_bytes = std::int64_t{256} << 10;
  const std::int64_t step = std::max<std::int64_t>(1, piece_bytes / status_cells_);
  std::vector<bool> result;
  for (std::int64_t repetition = block.repetition_first; repetition < block.repetition_end; ++repetition) {
    for (std::int64_t phase = block.phase_first; phase < block.phase_end; phase += step) {
      const std::int64_t end = std::min(phase + step, block.phase_end);
      const std::vector<Status> status =
          read_status({block.size_index, phase, end, repetition, repetition + 1});
      for (std::size_t cell = 0; cell < status.size(); cell += index(status_cells_))
        result.push_back(all_done(std::span(status).subspan(cell, index(status_cells_))));
    }
  }
  return result;
}

// Cells held in memory count as done, so that the next repetitions of their phases are measured. They reach
// the disk with the last repetition.
std::vector<bool> ZarrStore::summaries_done(const Block& block) const {
  std::vector<bool> closed;
  for (std::int64_t phase = block.phase_first; phase < block.phase_end; ++phase)
    closed.push_back(summary_closed(block.size_index, phase));
  std::vector<bool> result;
  for (std::int64_t repetition = block.repetition_first; repetition < block.repetition_end; ++repetition)
    for (std::int64_t phase = block.phase_first; phase < block.phase_end; ++phase)
      result.push_back(closed[index(phase - block.phase_first)] ||
                       summaries_.holds(block.size_index, phase, repetition));
  return result;
}

// A summary cannot be extended: either all repetitions of a phase are done, or the phase starts over.
bool ZarrStore::summary_closed(std::int32_t size_index, std::int64_t phase) const {
  std::optional<bool>& known = closed_[index(size_index * options_.shape.phases + phase)];
  if (known) return *known;
  const std::vector<Status> status =
      read_status({size_index, phase, phase + 1, 0, options_.shape.repetitions});
  const std::int64_t repetitions = repetitions_done_[index(size_index * options_.shape.phases + phase)];
  const auto counted =
      index((repetitions > 0 ? repetitions : options_.shape.repetitions) * options_.shape.ranks);
  known = all_done(std::span(status).first(std::min(counted, status.size())));
  return *known;
}

// Forgets which of the phases are closed, since their status changes.
void ZarrStore::reopen(std::int32_t size_index, std::int64_t phase_first, std::int64_t phase_end) {
  const auto at = closed_.begin() + size_index * options_.shape.phases;
  std::fill(at + phase_first, at + phase_end, std::nullopt);
}

std::vector<double> ZarrStore::read_rank_seconds(const Block& block) const {
  check_size(block.size_index);
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  if (options_.kept == Kept::phase_summaries) {
    std::vector<Summary> summaries(index(block.cells()));
    for (Summary& summary : summaries) summary.fill(nothing);
    if (const Shard* shard = shards_.find("phase_rank_summary", block.size_index))
      shard->read(block, std::as_writable_bytes(std::span(summaries)));
    verify({"phase_rank_summary", block, bytes_of(summaries)});
    std::vector<double> slowest;
    for (const Summary& summary : summaries) slowest.push_back(summary.back());
    return slowest;
  }
  std::vector<double> seconds(index(block.cells() * options_.shape.ranks), nothing);
  if (options_.kept == Kept::summaries) return seconds;
  if (const Shard* shard = shards_.find("rank_seconds", block.size_index))
    shard->read(block, std::as_writable_bytes(std::span(seconds)));
  verify({"rank_seconds", block, bytes_of(seconds)});
  return seconds;
}

Block ZarrStore::largest_block(std::int32_t size_index, std::int64_t repetition, std::int64_t phase) const {
  const auto chunk_end = [](std::int64_t at, std::int64_t chunk, std::int64_t extent) {
    return std::min(extent, (at / chunk + 1) * chunk);
  };
  Block block{size_index, phase, chunk_end(phase, grid_.chunk_phases, grid_.phases), repetition,
              repetition + 1};
  if (options_.kept == Kept::phase_summaries) {  // raw samples are still held in memory
    const std::int64_t phase_bytes = 8 * options_.shape.ranks * (options_.shape.slots + 1);
    const std::int64_t most = std::max<std::int64_t>(1, largest_summed_bytes / phase_bytes);
    block.phase_end = std::min(block.phase_end, phase + most);
    if (block.phase_end < grid_.phases) return block;
  }
  if (phase % grid_.chunk_phases == 0)
    block.repetition_end = chunk_end(repetition, grid_.chunk_repetitions, grid_.repetitions);
  return block;
}

std::int64_t ZarrStore::iterations(std::int32_t size_index) const {
  check_size(size_index);
  return iterations_[index(size_index)];
}

void ZarrStore::set_iterations(std::int32_t size_index, std::int64_t iterations) {
  check_size(size_index);
  write_numbers("iterations", size_index, std::span(&iterations, 1));
  iterations_[index(size_index)] = iterations;
}

void ZarrStore::set_repetitions_done(std::int32_t size_index, std::span<const std::int64_t> by_phase) {
  check_size(size_index);
  if (std::cmp_greater(by_phase.size(), options_.shape.phases))
    check_count("repetitions_done", by_phase.size(), options_.shape.phases);
  flush_summaries();
  const std::int64_t first = size_index * options_.shape.phases;
  write_numbers("repetitions_done", first, by_phase);
  std::ranges::copy(by_phase, repetitions_done_.begin() + first);
  reopen(size_index, 0, options_.shape.phases);
}

void ZarrStore::write_numbers(std::string_view array, std::int64_t first,
                              std::span<const std::int64_t> values) {
  File file(chunk_path(directory_, shards_.layout(array)), File::Mode::update);
  file.write_at(std::as_bytes(values), first * element_bytes(Element::int64));
  file.sync();
}

std::vector<std::int64_t> ZarrStore::read_numbers(std::string_view array) const {
  std::vector<std::int64_t> values(index(shards_.layout(array).file_bytes() / element_bytes(Element::int64)));
  const auto path = chunk_path(directory_, shards_.layout(array));
  File(path, File::Mode::read).read_at(std::as_writable_bytes(std::span(values)), 0);
  // Limit values to what a job may request, so that a damaged file cannot cause a near-endless loop.
  constexpr std::int64_t most_counted = 1'000'000'000;
  for (const std::int64_t value : values)
    if (value < 0 || value > most_counted)
      throw RunError(path.string() + ": " + std::to_string(value) + " is not a valid value of " +
                     std::string(array) + ", so the file is damaged; run `crosscut fsck`");
  return values;
}

void ZarrStore::set_attributes(const json::Object& changed) {
  if (nothing_missing_) return;
  for (const auto& [name, value] : changed) attributes_.set(name, value);
  write_group(directory_, group_metadata(layouts_, attributes_.object()));
}

void ZarrStore::finish(std::string_view state, const json::Object& changed) {
  flush_summaries();
  for (const auto& [name, value] : changed) attributes_.set(name, value);
  set_attributes({{"state", state}, {"end", utc_now()}});
}

}  // namespace crosscut::store
