#include "store/shard.hpp"

#include <algorithm>
#include <bit>

namespace crosscut::store {
namespace {

// A run's numbers are little-endian, as is every machine that the core is built for.
static_assert(std::endian::native == std::endian::little);

struct IndexEntry {
  std::uint64_t offset = ~std::uint64_t{0};
  std::uint64_t bytes = ~std::uint64_t{0};
  friend bool operator==(const IndexEntry&, const IndexEntry&) = default;
};
static_assert(sizeof(IndexEntry) == 16);
constexpr IndexEntry missing{};

constexpr std::size_t entries_at_once = 4096;  // 64 KiB of index held in memory

IndexEntry entry_of(const ShardPlan& plan, std::int64_t chunk) {
  return {static_cast<std::uint64_t>(plan.chunk_offset(chunk)),
          static_cast<std::uint64_t>(plan.chunk_bytes())};
}

// Calls `visit(chunk, part)` for each chunk that a block touches, with the part of the block in that chunk.
template <typename Visit>
void for_each_chunk(const ChunkGrid& grid, const Block& block, Visit&& visit) {
  const std::int64_t across = grid.phase_chunks();
  for (std::int64_t r = block.repetition_first / grid.chunk_repetitions;
       r * grid.chunk_repetitions < block.repetition_end; ++r)
    for (std::int64_t p = block.phase_first / grid.chunk_phases; p * grid.chunk_phases < block.phase_end;
         ++p) {
      Block part = block;
      part.repetition_first = std::max(block.repetition_first, r * grid.chunk_repetitions);
      part.repetition_end = std::min(block.repetition_end, (r + 1) * grid.chunk_repetitions);
      part.phase_first = std::max(block.phase_first, p * grid.chunk_phases);
      part.phase_end = std::min(block.phase_end, (p + 1) * grid.chunk_phases);
      visit(r * across + p, part);
    }
}

// Consecutive phases of one repetition: offsets in the block's cells and in the chunk, and length, in bytes.
struct Run {
  std::size_t in_block, in_chunk, bytes;
};

Run run_of(const ShardPlan& plan, const Block& block, const Block& part, std::int64_t repetition) {
  const ChunkGrid& grid = plan.grid;
  const std::int64_t block_phases = block.phase_end - block.phase_first;
  const auto bytes = [&](std::int64_t cells) { return static_cast<std::size_t>(cells * plan.cell_bytes); };
  return {
      bytes((repetition - block.repetition_first) * block_phases + part.phase_first - block.phase_first),
      bytes(repetition % grid.chunk_repetitions * grid.chunk_phases + part.phase_first % grid.chunk_phases),
      bytes(part.phase_end - part.phase_first)};
}

void fill(std::span<std::byte> bytes, const std::array<std::byte, 8>& value) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = value[i % value.size()];
}

[[noreturn]] void bad_entry(const File& file, std::int64_t chunk, const char* problem) {
  throw RunError(file.path().string() + ": index entry " + std::to_string(chunk) + " " + problem +
                 "; run `crosscut fsck` to see what is lost and `crosscut fsck --repair` to mark it for "
                 "measuring again");
}

}  // namespace

void Shard::create(const std::filesystem::path& path, const ShardPlan& plan) {
  make_directories(path.parent_path());
  const std::vector<IndexEntry> none(static_cast<std::size_t>(plan.grid.chunks()));
  replace_file(path, std::as_bytes(std::span(none)));
}

Shard::Shard(const std::filesystem::path& path, const ShardPlan& plan)
    : plan_(plan), file_(path, File::Mode::update) {
  const std::int64_t size = file_.size(), chunks = plan.grid.chunks();
  std::vector<IndexEntry> entries(entries_at_once);
  for (std::int64_t first = 0; first < chunks; first += entries_at_once) {
    const auto count = static_cast<std::size_t>(std::min<std::int64_t>(entries_at_once, chunks - first));
    const std::span some = std::span(entries).first(count);
    file_.read_at(std::as_writable_bytes(some), first * 16);
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t chunk = first + static_cast<std::int64_t>(i);
      if (some[i] == missing) continue;
      if (some[i] != entry_of(plan, chunk)) bad_entry(file_, chunk, "points to the wrong place");
      if (plan.chunk_offset(chunk + 1) > size)
        bad_entry(file_, chunk, "lies beyond the end: the file is truncated");
    }
  }
}

bool Shard::visible(std::int64_t chunk) const {
  IndexEntry entry;
  file_.read_at(std::as_writable_bytes(std::span(&entry, 1)), chunk * 16);
  return entry != missing;
}

std::vector<std::int64_t> Shard::write(const Block& block, std::span<const std::byte> cells) {
  std::vector<std::int64_t> invisible;
  for_each_chunk(plan_.grid, block, [&](std::int64_t chunk, const Block& part) {
    if (!visible(chunk)) {
      invisible.push_back(chunk);
      write_chunk(chunk, part, block, cells);
      return;
    }
    for (std::int64_t r = part.repetition_first; r < part.repetition_end; ++r) {
      const Run run = run_of(plan_, block, part, r);
      file_.write_at(cells.subspan(run.in_block, run.bytes),
                     plan_.chunk_offset(chunk) + static_cast<std::int64_t>(run.in_chunk));
    }
  });
  return invisible;
}

void Shard::write_chunk(std::int64_t chunk, const Block& part, const Block& block,
                        std::span<const std::byte> cells) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(plan_.chunk_bytes()));
  fill(bytes, plan_.fill);
  for (std::int64_t r = part.repetition_first; r < part.repetition_end; ++r) {
    const Run run = run_of(plan_, block, part, r);
    std::ranges::copy(cells.subspan(run.in_block, run.bytes),
                      bytes.begin() + static_cast<std::ptrdiff_t>(run.in_chunk));
  }
  file_.write_at(bytes, plan_.chunk_offset(chunk));
}

void Shard::publish(std::span<const std::int64_t> chunks) {
  for (const std::int64_t chunk : chunks) {
    const IndexEntry entry = entry_of(plan_, chunk);
    file_.write_at(std::as_bytes(std::span(&entry, 1)), chunk * 16);
  }
}

void Shard::read(const Block& block, std::span<std::byte> cells) const {
  fill(cells, plan_.fill);
  for_each_chunk(plan_.grid, block, [&](std::int64_t chunk, const Block& part) {
    if (!visible(chunk)) return;
    for (std::int64_t r = part.repetition_first; r < part.repetition_end; ++r) {
      const Run run = run_of(plan_, block, part, r);
      file_.read_at(cells.subspan(run.in_block, run.bytes),
                    plan_.chunk_offset(chunk) + static_cast<std::int64_t>(run.in_chunk));
    }
  });
}

}  // namespace crosscut::store
