#include "store/layout.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/json_members.hpp"

namespace crosscut::store {
namespace {

constexpr std::int64_t most_sizes = 4096;
constexpr std::int64_t most_ranks = std::int64_t{1} << 24;
constexpr std::int64_t most_slots = std::int64_t{1} << 24;
constexpr std::int64_t most_phases = std::int64_t{1} << 32;
constexpr std::int64_t most_repetitions = 1'000'000'000;
// Limits the index of a shard, written whole when the file is created, to 256 MiB: 16 bytes per chunk.
constexpr std::int64_t most_chunks = std::int64_t{1} << 24;
// Limit on the samples of one phase, which are held in memory together.
constexpr std::int64_t most_phase_bytes = std::int64_t{1} << 32;

void check_extent(const char* what, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return;
  throw UsageError("cannot store a run of " + std::to_string(value) + " " + what +
                   "; the number must be from 1 to " + std::to_string(most));
}

void check_shape(const Shape& shape) {
  check_extent("sizes", static_cast<std::int64_t>(shape.sizes.size()), most_sizes);
  check_extent("repetitions", shape.repetitions, most_repetitions);
  check_extent("phases", shape.phases, most_phases);
  check_extent("ranks", shape.ranks, most_ranks);
  check_extent("slots", shape.slots, most_slots);
  check_extent("bytes of samples in a phase", shape.ranks * shape.slots * 8, most_phase_bytes);
}

std::int64_t product(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t phases_summed_at_once(const Shape& shape) {
  const std::int64_t samples = shape.ranks * shape.slots;
  const std::int64_t most = largest_summed_bytes / 8 / samples / shape.repetitions;
  if (most < 1) {
    const std::int64_t fitting = largest_summed_bytes / 8 / samples;
    throw UsageError("a phase of " + std::to_string(shape.repetitions) + " repetitions by " +
                     std::to_string(samples) + " samples is too large to summarise in memory; use " +
                     (fitting > 0 ? "at most " + std::to_string(fitting) + " repetitions or " : "") +
                     "a larger --raw-budget");
  }
  const auto phase_bytes = static_cast<std::int64_t>(sizeof(Summary)) * samples;
  return std::min(most, std::max<std::int64_t>(1, largest_chunk_bytes / phase_bytes));
}

constexpr std::array type_names{"uint8", "int32", "uint32", "int64", "float64"};  // in the order of Element

json::Value codec(const char* name, json::Object configuration) {
  json::Object result{{"name", name}};
  if (!configuration.empty()) result.emplace_back("configuration", std::move(configuration));
  return result;
}

// Single bytes have no byte order, so the codec takes no configuration for them.
json::Value bytes_codec(Element element) {
  return codec("bytes", element == Element::uint8 ? json::Object{} : json::Object{{"endian", "little"}});
}

json::Value codecs(const ArrayLayout& layout) {
  if (!layout.sharded) return json::Array{bytes_codec(layout.element)};
  return json::Array{codec("sharding_indexed", {{"chunk_shape", json::to_json(layout.inner)},
                                                {"codecs", json::Array{bytes_codec(layout.element)}},
                                                {"index_codecs", json::Array{bytes_codec(Element::int64)}},
                                                {"index_location", "start"}})};
}

}  // namespace

double raw_bytes(const Shape& shape) {
  return 8.0 * static_cast<double>(shape.sizes.size()) * static_cast<double>(shape.repetitions) *
         static_cast<double>(shape.phases) * static_cast<double>(shape.ranks) *
         static_cast<double>(shape.slots + 1);
}

double summary_bytes(const Shape& shape) {
  return raw_bytes(shape) / static_cast<double>(shape.repetitions) * static_cast<double>(statistics.size());
}

Kept kept_within(double budget_bytes, const Shape& shape, bool by_rank) {
  if (raw_bytes(shape) <= budget_bytes) return Kept::samples;
  return by_rank || summary_bytes(shape) <= budget_bytes ? Kept::summaries : Kept::phase_summaries;
}

ChunkGrid chunk_grid(const Shape& shape, Kept kept) {
  check_shape(shape);
  const bool summaries = kept == Kept::summaries;
  const std::int64_t phase_bytes = kept == Kept::phase_summaries ? static_cast<std::int64_t>(sizeof(Summary))
                                                                 : shape.ranks * shape.slots * 8;
  const std::int64_t most =
      summaries ? phases_summed_at_once(shape) : std::max<std::int64_t>(1, largest_chunk_bytes / phase_bytes);
  ChunkGrid grid{shape.repetitions, shape.phases, summaries ? shape.repetitions : 1, shape.phases};
  if (most < shape.phases) {
    // Make chunks of about equal size rather than a small one at the end.
    const std::int64_t pieces = (shape.phases + most - 1) / most;
    grid.chunk_phases = (shape.phases + pieces - 1) / pieces;
  } else if (!summaries) {
    grid.chunk_repetitions = std::min(shape.repetitions, most / shape.phases);
  }
  check_extent("chunks (phases times repetitions)", grid.chunks(), most_chunks);
  return grid;
}

std::int64_t ArrayLayout::file_bytes() const { return product(chunk) * element_bytes(element); }

std::int64_t ArrayLayout::cell_bytes() const {
  const auto phase = std::ranges::find(dimensions, "phase") - dimensions.begin();
  return product({shape.begin() + phase + 1, shape.end()}) * element_bytes(element);
}

ChunkGrid ArrayLayout::grid() const {
  if (dimensions[1] == "repetition") return {shape[1], shape[2], inner[1], inner[2]};
  return {1, shape[1], 1, inner[1]};
}

std::array<std::byte, 8> ArrayLayout::fill_bytes() const {
  std::array<std::byte, 8> bytes{};
  if (element == Element::float64) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::memcpy(bytes.data(), &nan, sizeof nan);
  } else {
    const std::int64_t value = fill.integer();  // its first bytes are also the shorter integers
    std::memcpy(bytes.data(), &value, sizeof value);
  }
  return bytes;
}

namespace {

// One array of a run. A sharded array has one file per size.
struct Row {
  std::string_view name;
  std::vector<std::string_view> dimensions;
  Element element;
  json::Value fill;
  bool sharded = false;
};

// Every array of the format, and whether a run with these options has it.
std::vector<std::pair<bool, Row>> all_rows(const Store::Options& options) {
  using enum Element;
  using Names = std::vector<std::string_view>;
  const Coordinates& c = options.coordinates;
  const bool has_peers = static_cast<bool>(c.samples);
  const bool phases = options.kept == Kept::phase_summaries, summaries = options.kept == Kept::summaries;
  const bool samples = options.kept == Kept::samples;
  const Names phase_cells{"size", "repetition", "phase"}, cells{"size", "repetition", "phase", "rank"};
  const Names phase_slots{"phase", "rank", "slot"}, slots{"size", "repetition", "phase", "rank", "slot"};
  const Names phase_statistics{"size", "repetition", "phase", "statistic"};
  return {
      {true, {"size", {"size"}, int64, 0}},
      {true, {"phase", {"phase"}, int64, 0}},
      {has_peers, {"peer", phase_slots, int32, -1}},
      {has_peers && c.bytes_differ, {"bytes", phase_slots, int64, -1}},
      {!c.node.empty(), {"node", {"rank"}, int32, 0}},
      {!c.credited_bytes.empty(), {"credited_bytes", {"size", "phase"}, float64, "NaN"}},
      {true, {"iterations", {"size"}, int64, 0}},
      {true, {"repetitions_done", {"size", "phase"}, int64, 0}},
      {phases, {"phase_message_summary", phase_statistics, float64, "NaN", true}},
      {phases, {"phase_rank_summary", phase_statistics, float64, "NaN", true}},
      {phases, {"phase_moved_bytes", phase_cells, int64, 0, true}},
      {phases, {"phase_status", phase_cells, uint8, 0, true}},
      {summaries, {"message_summary", {"size", "phase", "rank", "slot", "statistic"}, float64, "NaN", true}},
      {summaries, {"rank_summary", {"size", "phase", "rank", "statistic"}, float64, "NaN", true}},
      {samples, {"message_seconds", slots, float64, "NaN", true}},
      {samples, {"rank_seconds", cells, float64, "NaN", true}},
      {!phases && options.compute, {"compute_fraction", cells, float64, "NaN", true}},
      {!phases && options.lossy, {"message_lost_bytes", slots, int64, 0, true}},
      {options.skew, {"skew_seconds", phase_cells, float64, "NaN", true}},
      {!phases, {"status", cells, uint8, 0, true}},
      {options.checksums, {"checksum", {"size", "repetition", "phase", "array"}, uint32, 0, true}},
  };
}

std::vector<Row> rows_of(const Store::Options& options) {
  std::vector<Row> kept;
  for (auto& [is_kept, row] : all_rows(options))
    if (is_kept) kept.push_back(std::move(row));
  return kept;
}

bool holds_samples(std::string_view array, bool sharded) {
  return sharded && array != "status" && array != "phase_status" && array != "checksum";
}

}  // namespace

std::vector<std::string_view> array_names(bool sharded) {
  std::vector<std::string_view> names;
  for (const auto& [is_kept, row] : all_rows({}))
    if (row.sharded == sharded) names.push_back(row.name);
  return names;
}

std::vector<std::string_view> checked_arrays(std::span<const ArrayLayout> layouts) {
  std::vector<std::string_view> names;
  for (const ArrayLayout& layout : layouts)
    if (holds_samples(layout.name, layout.sharded)) names.push_back(layout.name);
  std::ranges::sort(names);
  return names;
}

std::vector<ArrayLayout> array_layouts(const Store::Options& options) {
  const Shape& shape = options.shape;
  const ChunkGrid grid = chunk_grid(shape, options.kept);
  const std::vector<Row> rows = rows_of(options);
  const std::int64_t arrays =
      std::ranges::count_if(rows, [](const Row& row) { return holds_samples(row.name, row.sharded); });
  const std::map<std::string_view, std::int64_t> whole{{"size", std::ssize(shape.sizes)},
                                                       {"repetition", shape.repetitions},
                                                       {"phase", shape.phases},
                                                       {"rank", shape.ranks},
                                                       {"slot", shape.slots},
                                                       {"statistic", std::ssize(statistics)},
                                                       {"array", arrays}};
  auto chunk = whole, shard = whole;
  chunk["size"] = shard["size"] = 1;
  chunk["repetition"] = grid.chunk_repetitions;
  chunk["phase"] = grid.chunk_phases;
  // A shard must be a whole number of chunks, even if the array is not.
  shard["repetition"] = grid.chunk_repetitions * grid.repetition_chunks();
  shard["phase"] = grid.chunk_phases * grid.phase_chunks();
  std::vector<ArrayLayout> layouts;
  for (const auto& [name, dimensions, element, fill, sharded] : rows) {
    auto& layout = layouts.emplace_back(ArrayLayout{name, dimensions, element, fill, sharded, {}, {}, {}});
    for (const std::string_view dimension : dimensions) {
      layout.shape.push_back(whole.at(dimension));
      layout.chunk.push_back((sharded ? shard : whole).at(dimension));
      if (sharded) layout.inner.push_back(chunk.at(dimension));
    }
  }
  return layouts;
}

json::Value array_metadata(const ArrayLayout& layout) {
  return json::Object{
      {"zarr_format", 3},
      {"node_type", "array"},
      {"shape", json::to_json(layout.shape)},
      {"dimension_names", json::to_json(layout.dimensions)},
      {"data_type", type_names[static_cast<std::size_t>(layout.element)]},
      {"chunk_grid", codec("regular", {{"chunk_shape", json::to_json(layout.chunk)}})},
      {"chunk_key_encoding", codec("default", {{"separator", "/"}})},
      {"fill_value", layout.fill},
      {"codecs", codecs(layout)},
      {"attributes", json::Object{}},
      {"storage_transformers", json::Array{}},
  };
}

json::Value group_metadata(std::span<const ArrayLayout> layouts, const json::Object& attributes) {
  json::Object arrays;
  for (const ArrayLayout& layout : layouts)
    arrays.emplace_back(std::string(layout.name), array_metadata(layout));
  return json::Object{
      {"zarr_format", 3},
      {"node_type", "group"},
      {"attributes", attributes},
      {"consolidated_metadata",
       json::Object{{"kind", "inline"}, {"must_understand", false}, {"metadata", std::move(arrays)}}},
  };
}

}  // namespace crosscut::store
