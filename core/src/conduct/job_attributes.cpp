// Builds a run's coordinates and attributes from the job, the pattern and the ranks, and records each rank's
// effort: its processor time and the bytes it moved.
#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "base/json_members.hpp"
#include "base/version.hpp"
#include "conduct/job_run.hpp"
#include "store/layout.hpp"

namespace crosscut::conduct {
namespace {

constexpr std::int64_t most_coordinate_bytes = std::int64_t{64} << 20;

constexpr auto short_preparation = std::chrono::seconds(1);

// The value in `bytes` of a sample with the requested message size.
constexpr std::int64_t as_size = -1;

}  // namespace

// Throws UsageError if a sample's bytes are neither the message size nor the same for all sizes: one
// coordinate `bytes` serves all sizes of a run. Checks the first and the last phase only.
void JobRun::refuse_bytes_of_their_own() const {
  const auto ranks = group_.ranks();
  const auto first = shape_.sizes.front();
  std::vector<program::Op> ops, other;
  for (const auto size : shape_.sizes) {
    const auto phases = std::min(pattern_->extent(ranks, first).phases, pattern_->extent(ranks, size).phases);
    for (const auto index : {first_phase_, std::min(first_phase_ + shape_.phases, phases) - 1}) {
      const auto phase = pattern_->phase(ranks, first, index);
      const auto other_phase = pattern_->phase(ranks, size, index);
      for (Rank rank = 0; rank < ranks; ++rank) {
        ops.clear(), other.clear();
        phase->emit(rank, ops);
        other_phase->emit(rank, other);
        for (std::size_t i = 0; i < std::min(ops.size(), other.size()); ++i) {
          if (ops[i].slot < 0 || ops[i].slot != other[i].slot) continue;
          const auto here = ops[i].counted_bytes(), there = other[i].counted_bytes();
          if (there == here || (here == first && there == size)) continue;
          throw UsageError("pattern " + job_.pattern + " splits messages of " + std::to_string(first) +
                           " and of " + std::to_string(size) +
                           " bytes differently; measure each size in a separate run");
        }
      }
    }
  }
}

// Throws RunError if the job was stopped after preparing for more than a second. A job stopped sooner still
// creates its run, which records that it was stopped.
void JobRun::end_if_stopped() {
  if (!should_stop() || std::chrono::steady_clock::now() - started_ < short_preparation) return;
  throw RunError("stopped while preparing the run; nothing was measured or written");
}

std::vector<double> JobRun::credited_bytes() {
  std::vector<double> all;
  const auto ranks = group_.ranks();
  for (const auto size : shape_.sizes) {
    const auto phases = pattern_->extent(ranks, size).phases;
    for (std::int64_t index = first_phase_; index < first_phase_ + shape_.phases; ++index) {
      end_if_stopped();  // this loop takes minutes with many phases and ranks
      auto& credited = all.emplace_back(0);
      if (index >= phases) continue;
      if (info_.formula_per == "rank") {
        credited = pattern_->most_credited_bytes(ranks, size, index);
        continue;
      }
      const auto phase = pattern_->phase(ranks, size, index);
      for (Rank rank = 0; rank < ranks; ++rank) credited += phase->credited_bytes(rank);
    }
  }
  return all;
}

store::PhaseSamples samples_of(const program::Phase& phase, Rank ranks, std::int64_t slots,
                               std::int64_t size) {
  const auto cells = static_cast<std::size_t>(ranks * slots);
  store::PhaseSamples samples{.peer = std::vector<std::int32_t>(cells, -1),
                              .bytes = std::vector<std::int64_t>(cells, as_size)};
  std::vector<program::Op> ops;
  for (Rank rank = 0; rank < ranks; ++rank) {
    ops.clear();
    phase.emit(rank, ops);
    for (const auto& op : ops) {
      if (op.slot < 0) continue;
      const auto at = static_cast<std::size_t>(rank * slots + op.slot);
      samples.peer[at] = op.peer;
      if (op.counted_bytes() != size) samples.bytes[at] = op.counted_bytes();
    }
  }
  return samples;
}

// Called for one phase at a time, when the coordinates are written or compared.
store::PhaseSamples JobRun::samples_of(std::int64_t index) const {
  const auto size = shape_.sizes.front();
  return conduct::samples_of(*pattern_->phase(group_.ranks(), size, first_phase_ + index), group_.ranks(),
                             shape_.slots, size);
}

bool JobRun::bytes_differ() {
  for (std::int64_t index = 0; index < shape_.phases; ++index) {
    end_if_stopped();
    const auto bytes = samples_of(index).bytes;
    if (std::any_of(bytes.begin(), bytes.end(), [](auto b) { return b != as_size; })) return true;
  }
  return false;
}

store::Coordinates JobRun::coordinates() {
  store::Coordinates coordinates;
  const auto ranks = group_.ranks();
  coordinates.node = group_.nodes();
  if (shape_.phases * shape_.ranks * shape_.slots * 4 <= most_coordinate_bytes) {
    coordinates.samples = [this](std::size_t index) { return samples_of(static_cast<std::int64_t>(index)); };
    coordinates.bytes_differ = bytes_differ();
  }
  const auto size = shape_.sizes.front();
  for (std::int64_t index = 0; index < shape_.phases; ++index) {
    end_if_stopped();
    coordinates.phase.push_back(first_phase_ + index + 1);
    coordinates.phase_label.push_back(pattern_->label(ranks, size, first_phase_ + index));
  }
  const auto& labels = coordinates.phase_label;
  if (std::all_of(labels.begin(), labels.end(), [](const auto& l) { return l.empty(); })) {
    coordinates.phase_label.clear();
  }
  coordinates.credited_bytes = credited_bytes();
  return coordinates;
}

store::Store::Options JobRun::store_options(const json::Object& begun) {
  const program::Parameters pattern_values(info_.parameters, job_.pattern_parameters, "pattern");
  const program::Parameters backend_values(backend_.parameters, job_.backend_parameters, "backend");
  store::Store::Options options;
  options.shape = shape_;
  options.coordinates = coordinates();
  options.compute = job_.compute;
  options.lossy = backend_.lossy;
  options.skew = group_.real_time() && job_.sync == "barrier";
  options.kept = store::kept_within(static_cast<double>(job_.raw_budget_bytes), shape_,
                                    options.compute || options.lossy);
  auto& attributes = options.attributes;
  attributes = {
      {"crosscut", std::string(version)},
      {"job", to_json(job_)},
      {"pattern", json::Object{{"name", info_.name},
                               {"summary", info_.summary},
                               {"formula", info_.formula},
                               {"formula_per", info_.formula_per},
                               {"shape", name_of(info_.shape)},
                               {"findings", info_.findings},
                               {"latency", info_.latency && job_.window == 1},
                               {"halves", info_.halves},
                               {"source", info_.source},
                               {"parameters", json::to_json(pattern_values.all())}}},
      {"backend", json::Object{{"name", backend_.name}, {"parameters", json::to_json(backend_values.all())}}},
      {"window", job_.window},
      {"rails", rails_},
      {"cache", job_.cache},
      {"noise", job_.noise},
      {"place", place_},
      {"cadence", job_.sync == "barrier" ? "phases behind a barrier" : "streaming"},
  };
  for (auto& [key, value] : group_.attributes()) {
    if (key == "sync") value.set("policy", job_.sync);
    attributes.emplace_back(key, std::move(value));
  }
  for (const auto& member : begun) attributes.push_back(member);
  for (const auto& [key, value] : job_.metadata.object()) {
    const bool taken = std::any_of(attributes.begin(), attributes.end(),
                                   [&name = key](const auto& one) { return one.first == name; });
    if (!taken) attributes.emplace_back(key, value);
  }
  return options;
}

void JobRun::open_store(const json::Object& begun) {
  if (job_.out.empty()) throw UsageError("the job has no `out`; give the directory of the run");
  store_ = job_.resume ? store::Store::resume(job_.out, store_options(begun), job_.force)
                       : store::Store::create(job_.out, store_options(begun));
}

void JobRun::remember_effort(std::int32_t size_index, const session::BlockOutcome& outcome) {
  const auto moved = [](const measure::Effort& one) { return one.sent_bytes + one.received_bytes > 0; };
  if (std::none_of(outcome.effort.begin(), outcome.effort.end(), moved)) return;  // null, sim
  auto& total = effort_[shape_.sizes[static_cast<std::size_t>(size_index)]];
  total.resize(outcome.effort.size());
  for (std::size_t rank = 0; rank < total.size(); ++rank) total[rank].add(outcome.effort[rank]);
}

// Returns, for each size, one list over the ranks per quantity, so that readers without crosscut get arrays.
json::Array JobRun::effort() const {
  json::Array sizes;
  for (const auto& [bytes, ranks] : effort_) {
    const auto column = [&ranks = ranks](auto member) {
      json::Array values;
      for (const measure::Effort& one : ranks) values.emplace_back(one.*member);
      return values;
    };
    sizes.emplace_back(json::Object{{"size", bytes},
                                    {"processor_seconds", column(&measure::Effort::processor_seconds)},
                                    {"elapsed_seconds", column(&measure::Effort::elapsed_seconds)},
                                    {"sent_bytes", column(&measure::Effort::sent_bytes)},
                                    {"received_bytes", column(&measure::Effort::received_bytes)}});
  }
  return sizes;
}

}  // namespace crosscut::conduct
