// How a run's arrays are cut into files and chunks: pure, from the shape alone.
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

enum class Element : std::uint8_t { uint8, int32, int64, float64 };
std::int64_t element_bytes(Element element);

// How the samples of one size are cut: a chunk holds whole phases of one repetition, or all phases of
// several repetitions. The same for every array, so that a block touches the same chunk in each.
struct ChunkGrid {
  std::int64_t repetitions = 0, phases = 0;              // of the array
  std::int64_t chunk_repetitions = 0, chunk_phases = 0;  // of a chunk

  std::int64_t repetition_chunks() const { return (repetitions + chunk_repetitions - 1) / chunk_repetitions; }
  std::int64_t phase_chunks() const { return (phases + chunk_phases - 1) / chunk_phases; }
  std::int64_t chunks() const { return repetition_chunks() * phase_chunks(); }
};

// A chunk of message_seconds is at most this large, unless one phase of all ranks is larger by itself.
inline constexpr std::int64_t largest_chunk_bytes = std::int64_t{256} << 10;

// With summaries a chunk covers all repetitions of its phases, whose samples rank 0 holds until they are
// summed up: at most this many bytes.
inline constexpr std::int64_t largest_summed_bytes = std::int64_t{64} << 20;

// Throws UsageError when the shape is empty or beyond what a run can index (or, with summaries, sum up).
ChunkGrid chunk_grid(const Shape& shape, Kept kept);

struct ArrayLayout {
  std::string_view name;
  std::vector<std::string_view> dimensions;
  Element element = Element::float64;
  json::Value fill;
  bool sharded = false;             // one file a size, in chunks of `inner`
  std::vector<std::int64_t> shape;  // of the array
  std::vector<std::int64_t> chunk;  // of a file
  std::vector<std::int64_t> inner;  // of a chunk within a shard; empty unless sharded

  std::int64_t file_bytes() const;  // of an array of one chunk
  std::array<std::byte, 8> fill_bytes() const;
  // Of a sharded array: one repetition (where there are any) and phase, all ranks.
  std::int64_t cell_bytes() const;
  ChunkGrid grid() const;
};

// Bytes of the samples, and of the summaries that take their place.
double raw_bytes(const Shape& shape);
double summary_bytes(const Shape& shape);
// The most detailed of what fits into so many bytes; with phase summaries it may exceed them. Summaries over
// ranks know nothing of what a rank lost or computed: not of such runs.
Kept kept_within(double budget_bytes, const Shape& shape, bool by_rank);

// Every array that a run with these options has, in the order in which metadata lists them.
std::vector<ArrayLayout> array_layouts(const Store::Options& options);

}  // namespace crosscut::store
