// Divides a run's arrays into files and chunks, and describes them; a pure function of the run's options.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "store/store.hpp"

namespace crosscut::store {

enum class Element : std::uint8_t { uint8, int32, uint32, int64, float64 };
constexpr std::int64_t element_bytes(Element element) {
  constexpr std::array bytes{1, 4, 4, 8, 8};
  return bytes[static_cast<std::size_t>(element)];
}

// The chunks of one size's samples. A chunk holds whole phases of one repetition, all phases of several
// repetitions or, with summaries, all repetitions of several phases. All arrays share the grid, so a block
// touches the same chunks in each.
struct ChunkGrid {
  std::int64_t repetitions = 0, phases = 0;              // of the array
  std::int64_t chunk_repetitions = 0, chunk_phases = 0;  // of a chunk

  std::int64_t repetition_chunks() const { return (repetitions + chunk_repetitions - 1) / chunk_repetitions; }
  std::int64_t phase_chunks() const { return (phases + chunk_phases - 1) / chunk_phases; }
  std::int64_t chunks() const { return repetition_chunks() * phase_chunks(); }
};

// Largest chunk of message_seconds, unless a single phase is larger.
inline constexpr std::int64_t largest_chunk_bytes = std::int64_t{256} << 10;

// Largest chunk with summaries, in bytes of raw samples: all repetitions of its phases, which rank 0 holds in
// memory until it has summarised them.
inline constexpr std::int64_t largest_summed_bytes = std::int64_t{64} << 20;

// Throws UsageError if the shape is empty, or too large to index or (with summaries) to summarise.
ChunkGrid chunk_grid(const Shape& shape, Kept kept);

struct ArrayLayout {
  std::string_view name;
  std::vector<std::string_view> dimensions;
  Element element = Element::float64;
  json::Value fill;
  bool sharded = false;             // one file per size, in chunks of `inner`
  std::vector<std::int64_t> shape;  // of the array
  std::vector<std::int64_t> chunk;  // of a file
  std::vector<std::int64_t> inner;  // of a chunk within a shard; empty unless sharded

  std::int64_t file_bytes() const;  // of an array that is not sharded
  std::array<std::byte, 8> fill_bytes() const;
  // Sharded arrays only: bytes of one repetition (if the array has repetitions) and phase, all ranks.
  std::int64_t cell_bytes() const;
  ChunkGrid grid() const;
};

// Return the size in bytes of the raw samples, and of the summaries that replace them.
double raw_bytes(const Shape& shape);
double summary_bytes(const Shape& shape);
// Returns the most detailed kind of samples that fits in the budget; the least detailed kind may exceed it.
// `by_rank` excludes phase summaries, which lack what each rank lost or computed.
Kept kept_within(double budget_bytes, const Shape& shape, bool by_rank);

// Returns every array of a run with these options, in the order of the metadata.
std::vector<ArrayLayout> array_layouts(const Store::Options& options);
// Returns the names of all arrays that a run may have: those with one file per size, or the others.
std::vector<std::string_view> array_names(bool sharded);
// Returns the names of the arrays of samples, in alphabetical order: the index along the dimension `array` of
// `checksum`.
std::vector<std::string_view> checked_arrays(std::span<const ArrayLayout> layouts);

// The zarr.json files of a run (Zarr core specification, version 3).
inline constexpr std::string_view schema_name = "crosscut-run";
// Version 2 added phase summaries, 3 checksums and the skew of phases.
inline constexpr std::int64_t schema_version = 3;

json::Value array_metadata(const ArrayLayout& layout);
// Returns the group's metadata with that of all arrays inline ("consolidated"), so that readers open only
// one file.
json::Value group_metadata(std::span<const ArrayLayout> layouts, const json::Object& attributes);

}  // namespace crosscut::store
