#include "store/layout.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/error.hpp"

namespace crosscut::store {
namespace {

constexpr std::int64_t most_sizes = 4096;
constexpr std::int64_t most_ranks = std::int64_t{1} << 24;
constexpr std::int64_t most_slots = std::int64_t{1} << 24;
constexpr std::int64_t most_phases = std::int64_t{1} << 32;
constexpr std::int64_t most_repetitions = 1'000'000'000;
// Limits the index of a shard to 256 MiB: 16 bytes a chunk, written whole when the file is created.
constexpr std::int64_t most_chunks = std::int64_t{1} << 24;
// Limit of one phase of all ranks, which is held in memory at once.
constexpr std::int64_t most_phase_bytes = std::int64_t{1} << 32;

void check_extent(const char* what, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return;
  throw UsageError("a run of " + std::to_string(value) + " " + what + " cannot be stored: 1 to " +
                   std::to_string(most) + " can");
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

// Sets shapes and chunks according to the names of the dimensions.
class Catalogue {
 public:
  explicit Catalogue(const Store::Options& options)
      : shape_(options.shape), grid_(chunk_grid(options.shape, options.kept)) {}

  void whole(std::string_view name, std::vector<std::string_view> dimensions, Element element,
             json::Value fill) {
    ArrayLayout layout{name, std::move(dimensions), element, std::move(fill), false, {}, {}, {}};
    for (const std::string_view dimension : layout.dimensions) layout.shape.push_back(extent(dimension));
    layout.chunk = layout.shape;
    layouts_.push_back(std::move(layout));
  }

  void sharded(std::string_view name, std::vector<std::string_view> dimensions, Element element,
               json::Value fill) {
    whole(name, std::move(dimensions), element, std::move(fill));
    ArrayLayout& layout = layouts_.back();
    layout.sharded = true;
    layout.inner = layout.shape;
    for (std::size_t i = 0; i < layout.dimensions.size(); ++i)
      cut(layout.dimensions[i], layout.chunk[i], layout.inner[i]);
  }

  std::vector<ArrayLayout> take() { return std::move(layouts_); }

 private:
  // A shard must be a whole number of chunks, even if the array is not.
  void cut(std::string_view dimension, std::int64_t& chunk, std::int64_t& inner) const {
    if (dimension == "size") {
      chunk = inner = 1;
    } else if (dimension == "repetition") {
      inner = grid_.chunk_repetitions;
      chunk = inner * grid_.repetition_chunks();
    } else if (dimension == "phase") {
      inner = grid_.chunk_phases;
      chunk = inner * grid_.phase_chunks();
    }
  }

  std::int64_t extent(std::string_view dimension) const {
    if (dimension == "size") return static_cast<std::int64_t>(shape_.sizes.size());
    if (dimension == "repetition") return shape_.repetitions;
    if (dimension == "phase") return shape_.phases;
    if (dimension == "rank") return shape_.ranks;
    if (dimension == "slot") return shape_.slots;
    return static_cast<std::int64_t>(statistics.size());
  }

  const Shape& shape_;
  ChunkGrid grid_;
  std::vector<ArrayLayout> layouts_;
};

std::int64_t phases_summed_at_once(const Shape& shape) {
  const std::int64_t samples = shape.ranks * shape.slots;
  const std::int64_t most = largest_summed_bytes / 8 / samples / shape.repetitions;
  if (most < 1)
    throw UsageError(
        "a phase of " + std::to_string(shape.repetitions) + " repetitions by " + std::to_string(samples) +
        " samples is too large to be summed up in memory: ask for at most " +
        std::to_string(largest_summed_bytes / 8 / samples) + " repetitions, or raise the raw budget");
  const auto phase_bytes = static_cast<std::int64_t>(sizeof(Summary)) * samples;
  return std::min(most, std::max<std::int64_t>(1, largest_chunk_bytes / phase_bytes));
}

}  // namespace

std::int64_t element_bytes(Element element) {
  switch (element) {
    case Element::uint8:
      return 1;
    case Element::int32:
      return 4;
    case Element::int64:
    case Element::float64:
      return 8;
  }
  __builtin_unreachable();
}

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
    const std::int64_t value = fill.integer();  // two's complement: its first bytes are the shorter integers
    std::memcpy(bytes.data(), &value, sizeof value);
  }
  return bytes;
}

std::vector<ArrayLayout> array_layouts(const Store::Options& options) {
  Catalogue catalogue(options);
  catalogue.whole("size", {"size"}, Element::int64, 0);
  catalogue.whole("phase", {"phase"}, Element::int64, 0);
  if (options.coordinates.samples) catalogue.whole("peer", {"phase", "rank", "slot"}, Element::int32, -1);
  if (options.coordinates.samples && options.coordinates.bytes_differ)
    catalogue.whole("bytes", {"phase", "rank", "slot"}, Element::int64, -1);
  if (!options.coordinates.node.empty()) catalogue.whole("node", {"rank"}, Element::int32, 0);
  if (!options.coordinates.credited_bytes.empty())
    catalogue.whole("credited_bytes", {"size", "phase"}, Element::float64, "NaN");
  catalogue.whole("iterations", {"size"}, Element::int64, 0);
  catalogue.whole("repetitions_done", {"size", "phase"}, Element::int64, 0);
  const std::vector<std::string_view> cells{"size", "repetition", "phase", "rank"};
  const std::vector<std::string_view> slots{"size", "repetition", "phase", "rank", "slot"};
  if (options.kept == Kept::phase_summaries) {
    catalogue.sharded("phase_message_summary", {"size", "repetition", "phase", "statistic"}, Element::float64,
                      "NaN");
    catalogue.sharded("phase_rank_summary", {"size", "repetition", "phase", "statistic"}, Element::float64,
                      "NaN");
    catalogue.sharded("phase_moved_bytes", {"size", "repetition", "phase"}, Element::int64, 0);
    catalogue.sharded("phase_status", {"size", "repetition", "phase"}, Element::uint8, 0);
    return catalogue.take();
  }
  if (options.kept == Kept::summaries) {
    catalogue.sharded("message_summary", {"size", "phase", "rank", "slot", "statistic"}, Element::float64,
                      "NaN");
    catalogue.sharded("rank_summary", {"size", "phase", "rank", "statistic"}, Element::float64, "NaN");
  } else {
    catalogue.sharded("message_seconds", slots, Element::float64, "NaN");
    catalogue.sharded("rank_seconds", cells, Element::float64, "NaN");
  }
  if (options.compute) catalogue.sharded("compute_fraction", cells, Element::float64, "NaN");
  if (options.lossy) catalogue.sharded("message_lost_bytes", slots, Element::int64, 0);
  catalogue.sharded("status", cells, Element::uint8, 0);
  return catalogue.take();
}

}  // namespace crosscut::store
