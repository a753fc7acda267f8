// A made-up run whose samples encode their place, so that reading back shows what was mixed up.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "store/store.hpp"

namespace crosscut::tests::sample {

inline bool has_message(std::int64_t phase, std::int64_t rank, std::int64_t slot) {
  return (phase + rank + slot) % 5 != 0;
}

// A unique number for each cell; exact in a double, and so in every reader.
inline double seconds_at(const store::Shape& shape, std::int64_t size, std::int64_t repetition,
                         std::int64_t phase, std::int64_t rank, std::int64_t slot) {
  const std::int64_t cell =
      ((size * shape.repetitions + repetition) * shape.phases + phase) * shape.ranks + rank;
  return static_cast<double>(cell * shape.slots + slot + 1);
}

inline store::PhaseSamples samples_of(const store::Shape& shape, std::int64_t phase) {
  store::PhaseSamples samples;
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank)
    for (std::int64_t slot = 0; slot < shape.slots; ++slot) {
      const auto peer = static_cast<std::int32_t>((rank + phase + 1) % shape.ranks);
      samples.peer.push_back(has_message(phase, rank, slot) ? peer : -1);
      samples.bytes.push_back(phase == 1 ? 1 + rank : -1);
    }
  return samples;
}

inline store::Store::Options options(const store::Shape& shape) {
  store::Store::Options options;
  options.shape = shape;
  options.skew = true;
  store::Coordinates& c = options.coordinates;
  for (std::int64_t phase = 0; phase < shape.phases; ++phase) {
    c.phase.push_back(phase + 1);
    c.phase_label.push_back("stride " + std::to_string(phase + 1));
  }
  c.samples = [shape](std::size_t phase) { return samples_of(shape, static_cast<std::int64_t>(phase)); };
  for (const std::int64_t size : shape.sizes)
    c.credited_bytes.insert(c.credited_bytes.end(), static_cast<std::size_t>(shape.phases),
                            static_cast<double>(size));
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank)
    c.node.push_back(static_cast<std::int32_t>(rank / 2));
  json::Array nodes;
  for (std::int64_t node = 0; node <= (shape.ranks - 1) / 2; ++node)
    nodes.push_back(json::Object{{"name", "n" + std::to_string(node)}, {"id", "id" + std::to_string(node)}});
  options.attributes = {{"crosscut", "0"},
                        {"pattern", json::Object{{"name", "sample"}, {"parameters", json::Object{}}}},
                        {"backend", json::Object{{"name", "null"}, {"parameters", json::Object{}}}},
                        {"job", json::Object{{"seed", 1}, {"sync", "barrier"}}},
                        {"nodes", nodes}};
  return options;
}

inline store::BlockData data(const store::Store::Options& options, const store::Block& block) {
  const store::Shape& shape = options.shape;
  store::BlockData data;
  data.block = block;
  for (std::int64_t r = block.repetition_first; r < block.repetition_end; ++r)
    for (std::int64_t p = block.phase_first; p < block.phase_end; ++p) {
      data.skew_seconds.push_back(1e-6 * static_cast<double>(r + p));
      for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
        for (std::int64_t slot = 0; slot < shape.slots; ++slot) {
          data.message_seconds.push_back(has_message(p, rank, slot)
                                             ? seconds_at(shape, block.size_index, r, p, rank, slot)
                                             : std::numeric_limits<double>::quiet_NaN());
          if (options.lossy) data.message_lost_bytes.push_back(r + p);
        }
        data.rank_seconds.push_back(0.5 + seconds_at(shape, block.size_index, r, p, rank, 0));
        data.status.push_back(store::Status::measured);
        if (options.compute) data.compute_fraction.push_back(0.5);
      }
    }
  return data;
}

// The next block: across phases first, then on to the next repetitions.
inline bool next_block(const store::Store& store, const store::Shape& shape, store::Block& block) {
  const std::int64_t phase = block.phase_end == shape.phases ? 0 : block.phase_end;
  const std::int64_t repetition = phase == 0 ? block.repetition_end : block.repetition_first;
  if (repetition == shape.repetitions) return false;
  block = store.largest_block(block.size_index, repetition, phase);
  return true;
}

}  // namespace crosscut::tests::sample
