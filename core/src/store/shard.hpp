// One file of an array: an index, then the samples of one size in chunks at fixed offsets.
//
// The codec is Zarr's `sharding_indexed` with the index at the start. Chunk i starts at byte index_bytes() +
// i * chunk_bytes(); readers see it once its index entry is set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/file.hpp"
#include "store/layout.hpp"

namespace crosscut::store {

struct ShardPlan {
  ChunkGrid grid;
  std::int64_t cell_bytes = 0;  // one repetition and phase, all ranks
  std::array<std::byte, 8> fill{};

  explicit ShardPlan(const ArrayLayout& layout)
      : grid(layout.grid()), cell_bytes(layout.cell_bytes()), fill(layout.fill_bytes()) {}
  std::int64_t chunk_bytes() const { return grid.chunk_repetitions * grid.chunk_phases * cell_bytes; }
  std::int64_t index_bytes() const { return grid.chunks() * 16; }
  std::int64_t chunk_offset(std::int64_t chunk) const { return index_bytes() + chunk * chunk_bytes(); }
};

class Shard {
 public:
  // Creates an empty shard. Its index is on disk before the file gets its name.
  static void create(const std::filesystem::path& path, const ShardPlan& plan);
  // Opens a shard and checks every index entry. Throws RunError naming the first bad entry.
  Shard(const std::filesystem::path& path, const ShardPlan& plan);

  // Writes the cells of a block, in C order. Returns the chunks that readers cannot see yet, whose other
  // cells hold the fill value; the caller must sync(), then publish() them.
  [[nodiscard]] std::vector<std::int64_t> write(const Block& block, std::span<const std::byte> cells);
  void publish(std::span<const std::int64_t> chunks);
  void sync() { file_.sync(); }
  // Reads the cells of a block; cells never written have the fill value.
  void read(const Block& block, std::span<std::byte> cells) const;
  bool visible(std::int64_t chunk) const;

 private:
  void write_chunk(std::int64_t chunk, const Block& part, const Block& block,
                   std::span<const std::byte> cells);

  ShardPlan plan_;
  File file_;
};

}  // namespace crosscut::store
