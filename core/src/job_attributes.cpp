// What a run on disk says of itself: coordinates and attributes, from job, pattern and ensemble.
#include <algorithm>

#include "error.hpp"
#include "job_run.hpp"
#include "version.hpp"

namespace crosscut {
namespace {

constexpr std::int64_t most_coordinate_bytes = std::int64_t{64} << 20;

// In `bytes`: the sample's bytes are the message size asked for.
constexpr std::int64_t as_size = -1;

json::Value described(const Parameters& parameters) {
  json::Object values;
  for (const auto& [name, value] : parameters.all()) values.emplace_back(name, value);
  return values;
}

std::int64_t sample_bytes(const Op& op) { return op.sample_bytes >= 0 ? op.sample_bytes : op.bytes; }

}  // namespace

Coordinates JobRun::coordinates() const {
  Coordinates coordinates;
  const auto ranks = ensemble_.ranks();
  coordinates.node = ensemble_.nodes();
  const auto cells = shape_.phases * shape_.ranks * shape_.slots;
  const bool written = cells * 4 <= most_coordinate_bytes;
  if (written) coordinates.peer.assign(static_cast<std::size_t>(cells), -1);
  std::vector<std::int64_t> bytes(written ? static_cast<std::size_t>(cells) : 0, as_size);
  const auto size = shape_.sizes.front();
  bool labelled = false;
  std::vector<Op> ops;
  for (std::int64_t index = 0; index < shape_.phases; ++index) {
    coordinates.phase.push_back(first_phase_ + index + 1);
    const auto phase = pattern_->phase(ranks, size, first_phase_ + index);
    coordinates.phase_label.push_back(phase->label());
    labelled = labelled || !coordinates.phase_label.back().empty();
    for (Rank rank = 0; written && rank < ranks; ++rank) {
      ops.clear();
      phase->emit(rank, ops);
      for (const auto& op : ops) {
        if (op.slot < 0) continue;
        const auto at = static_cast<std::size_t>((index * shape_.ranks + rank) * shape_.slots + op.slot);
        coordinates.peer[at] = op.peer;
        if (sample_bytes(op) != size) bytes[at] = sample_bytes(op);
      }
    }
  }
  if (!labelled) coordinates.phase_label.clear();
  if (std::any_of(bytes.begin(), bytes.end(), [](auto b) { return b != as_size; }))
    coordinates.bytes = std::move(bytes);
  for (const auto one : shape_.sizes) {
    const auto extent = pattern_->extent(ranks, one);
    for (std::int64_t index = 0; index < shape_.phases; ++index) {
      double credited = 0;
      if (first_phase_ + index < extent.phases) {
        const auto phase = pattern_->phase(ranks, one, first_phase_ + index);
        for (Rank rank = 0; rank < ranks; ++rank) {
          const auto bytes_of_rank = phase->credited_bytes(rank);
          credited =
              info_.formula_per == "phase" ? credited + bytes_of_rank : std::max(credited, bytes_of_rank);
        }
      }
      coordinates.credited_bytes.push_back(credited);
    }
  }
  return coordinates;
}

Store::Options JobRun::store_options(const json::Object& begun) const {
  const Parameters pattern_values(info_.parameters, job_.pattern_parameters, "pattern");
  const Parameters backend_values(backend_.parameters, job_.backend_parameters, "backend");
  Store::Options options;
  options.shape = shape_;
  options.coordinates = coordinates();
  options.compute = job_.compute;
  options.lossy = backend_.lossy;
  const auto cells = static_cast<double>(shape_.phases) * static_cast<double>(shape_.ranks) *
                     static_cast<double>(shape_.slots + 1) * static_cast<double>(shape_.repetitions) *
                     static_cast<double>(shape_.sizes.size());
  options.summaries = cells * 8 > static_cast<double>(job_.raw_budget_bytes);
  auto& attributes = options.attributes;
  attributes = {
      {"crosscut", std::string(version)},
      {"job", to_json(job_)},
      {"pattern", json::Object{{"name", info_.name},
                               {"summary", info_.summary},
                               {"formula", info_.formula},
                               {"formula_per", info_.formula_per},
                               {"source", info_.source},
                               {"parameters", described(pattern_values)}}},
      {"backend", json::Object{{"name", backend_.name}, {"parameters", described(backend_values)}}},
      {"place", place_},
      {"cadence", job_.sync == "barrier" ? "phases behind a barrier" : "streaming"},
  };
  for (auto& [key, value] : ensemble_.attributes()) {
    if (key == "sync") {
      auto sync = value;
      sync.set("policy", job_.sync);
      attributes.emplace_back(key, std::move(sync));
    } else {
      attributes.emplace_back(key, value);
    }
  }
  for (const auto& member : begun) attributes.push_back(member);
  if (job_.metadata.is_object()) {
    for (const auto& [key, value] : job_.metadata.object()) {
      const bool taken = std::any_of(attributes.begin(), attributes.end(),
                                     [&](const auto& one) { return one.first == key; });
      if (!taken) attributes.emplace_back(key, value);
    }
  }
  return options;
}

void JobRun::open_store(const json::Object& begun) {
  if (job_.out.empty()) throw UsageError("the job names no directory for its run (out)");
  store_ = job_.resume ? Store::resume(job_.out, store_options(begun), job_.force)
                       : Store::create(job_.out, store_options(begun));
}

}  // namespace crosscut
