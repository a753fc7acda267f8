#include "program/in_flight.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace crosscut::program {
namespace {

// Multiplies bytes. What no memory holds stays below the largest number, so that sums of it can be compared.
std::int64_t times(std::int64_t bytes, std::int32_t window) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max() / 4;
  return bytes > most / window ? most : bytes * window;
}

class PhaseInFlight final : public Phase {
 public:
  PhaseInFlight(std::unique_ptr<Phase> phase, std::int32_t window, std::int32_t rails)
      : phase_(std::move(phase)), window_(window), rails_(rails) {}

  void emit(Rank rank, std::vector<Op>& ops) const override {
    phase_->emit(rank, ops);
    for (auto& op : ops) {
      if (!op.is_signal) op.messages = window_, op.rails = rails_;
      op.offset = times(op.offset, window_);
      if (op.origin_offset >= 0) op.origin_offset = times(op.origin_offset, window_);
      op.divisor *= window_;
    }
  }
  double credited_bytes(Rank rank) const override { return phase_->credited_bytes(rank); }
  std::string label() const override { return phase_->label(); }

 private:
  std::unique_ptr<Phase> phase_;
  std::int32_t window_, rails_;
};

class PatternInFlight final : public Pattern {
 public:
  PatternInFlight(std::unique_ptr<Pattern> pattern, std::int32_t window, std::int32_t rails)
      : pattern_(std::move(pattern)), window_(window), rails_(rails) {}

  Extent extent(Rank ranks, std::int64_t bytes) const override {
    auto extent = pattern_->extent(ranks, bytes);
    extent.window = window_;
    extent.rails = std::max(extent.rails, rails_);  // a pattern with a use of its own has more
    extent.send_bytes = times(extent.send_bytes, window_);
    extent.receive_bytes = times(extent.receive_bytes, window_);
    return extent;
  }
  std::vector<Rank> peers(Rank self, Rank ranks) const override { return pattern_->peers(self, ranks); }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    return std::make_unique<PhaseInFlight>(pattern_->phase(ranks, bytes, index), window_, rails_);
  }
  std::string label(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    return pattern_->label(ranks, bytes, index);
  }
  double most_credited_bytes(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    return pattern_->most_credited_bytes(ranks, bytes, index);
  }
  std::vector<std::int64_t> default_sizes() const override { return pattern_->default_sizes(); }
  std::string refuse(Rank ranks) const override { return pattern_->refuse(ranks); }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::int32_t window_, rails_;
};

}  // namespace

std::unique_ptr<Pattern> in_flight(std::unique_ptr<Pattern> pattern, std::int32_t window,
                                   std::int32_t rails) {
  if (window <= 1 && rails <= 1) return pattern;
  return std::make_unique<PatternInFlight>(std::move(pattern), window, rails);
}

}  // namespace crosscut::program
