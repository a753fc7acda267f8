// The multi-drop chain of Dolly: data flows in segments from rank to rank, and each rank forwards a segment
// while it receives the next. Segments alternate between the rails (interfaces). With several lengths, each
// is a phase with that many ranks from the start of the chain.
#include "base/error.hpp"
#include "patterns/operations.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

// Bounds the memory that a rank's operations take, up to two for each segment.
constexpr std::int64_t most_segments = 500'000;

struct Settings {
  std::int64_t segment_bytes = 0;
  std::int32_t rails = 1;
  RankList order;    // empty: 0, 1, 2, ...
  RankList lengths;  // ranks in the chain, for each phase; empty: one phase with all
};

std::int64_t segments(std::int64_t bytes, std::int64_t segment_bytes) {
  const std::int64_t count = std::max<std::int64_t>(1, (bytes + segment_bytes - 1) / segment_bytes);
  if (count > most_segments)
    throw UsageError("pattern chain: " + std::to_string(bytes) + " bytes in segments of " +
                     std::to_string(segment_bytes) + " are " + std::to_string(count) +
                     " segments, more than " + std::to_string(most_segments) + "; choose a larger --segment");
  return count;
}

class ChainPhase final : public Phase {
 public:
  ChainPhase(Rank ranks, std::int64_t bytes, const Settings& settings, std::int64_t index)
      : bytes_(bytes),
        settings_(settings),
        chain_(settings.order.empty() ? all_but(nobody, ranks) : settings.order) {
    if (settings.lengths.empty()) return;
    const Rank length = settings.lengths[static_cast<std::size_t>(index)];
    chain_.resize(std::min(chain_.size(), static_cast<std::size_t>(length)));
  }

  void emit(Rank rank, std::vector<Op>& ops) const override {
    const auto at = std::find(chain_.begin(), chain_.end(), rank);
    if (at == chain_.end() || chain_.size() < 2) return;
    const Rank before = at == chain_.begin() ? nobody : *(at - 1);
    const Rank behind = at + 1 == chain_.end() ? nobody : *(at + 1);
    const std::int64_t count = segments(bytes_, settings_.segment_bytes);
    std::vector<Stream> streams(static_cast<std::size_t>(settings_.rails));
    for (std::int64_t i = 0; i < count; ++i) {
      Stream& stream = streams[static_cast<std::size_t>(i % settings_.rails)];
      if (before == nobody) {
        stream.add(ops, segment(send_to(behind, 0), i));
        continue;
      }
      Op receive = segment(receive_from(before, 0), i);
      receive.origin = chain_.front();
      if (i + settings_.rails >= count) time(receive, i);
      const OpIndex received = stream.add(ops, receive);
      if (behind == nobody) continue;
      Op forward = segment(send_to(behind, 0), i);
      forward.forwards = received;
      // After all receives so far on this rail, so that segments leave in order.
      forward.after = stream.all();
      add(ops, forward);
    }
  }
  double credited_bytes(Rank rank) const override {
    return std::find(chain_.begin(), chain_.end(), rank) == chain_.end() ? 0 : static_cast<double>(bytes_);
  }
  std::string label() const override {
    return settings_.lengths.empty() ? "" : std::to_string(chain_.size()) + " ranks";
  }

 private:
  Op segment(Op op, std::int64_t index) const {
    op.offset = index * settings_.segment_bytes;
    op.bytes = std::min(settings_.segment_bytes, bytes_ - op.offset);
    op.rail = static_cast<std::uint8_t>(index % settings_.rails);
    return op;
  }
  // Makes the last segment of a rail end the rail's sample, which counts all bytes received over it.
  void time(Op& last, std::int64_t index) const {
    last.slot = last.rail;
    const std::int64_t full = index / settings_.rails * settings_.segment_bytes;
    last.sample_bytes = full + last.bytes;
  }

  std::int64_t bytes_;
  Settings settings_;
  std::vector<Rank> chain_;
};

class Chain final : public PhasedPattern {
 public:
  explicit Chain(const Parameters& given)
      : settings_{.segment_bytes = given.integer("segment"),
                  .rails = static_cast<std::int32_t>(given.integer("rails")),
                  .order = given.ranks("order"),
                  .lengths = given.ranks("lengths")} {}

  Extent extent(Rank, std::int64_t bytes) const override {
    static_cast<void>(segments(bytes, settings_.segment_bytes));
    return {.phases = std::max<std::int64_t>(1, std::ssize(settings_.lengths)),
            .slots = settings_.rails,
            .rails = settings_.rails,
            .send_bytes = bytes,
            .receive_bytes = bytes,
            .iterable = false};
  }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    return std::make_unique<ChainPhase>(ranks, bytes, settings_, index);
  }
  std::vector<std::int64_t> default_sizes() const override { return {40'000'000}; }
  std::string refuse(Rank ranks) const override {
    if (settings_.order.size() == 1) return "--order names one rank; a chain needs two";
    const std::int64_t there = settings_.order.empty() ? ranks : std::ssize(settings_.order);
    for (const Rank length : settings_.lengths) {
      if (length < 2) return "--lengths names " + std::to_string(length) + "; a chain needs two ranks";
      if (length > there)
        return "--lengths names " + std::to_string(length) + ", but there are " + std::to_string(there) +
               (settings_.order.empty() ? " ranks" : " ranks in --order");
    }
    return absent_rank("order", settings_.order, ranks);
  }

 private:
  Settings settings_;
};

const std::array parameters = {
    bytes_parameter("segment", "128KiB", "Size of a segment; the message size is the total", 1, 1e12),
    integer_parameter("rails", "", "1", 64, "Interfaces that the segments take in turn"),
    list_parameter("order", Parameter::Kind::ranks,
                   "The ranks along the chain, first to last; without it all ranks, in order"),
    list_parameter(
        "lengths", Parameter::Kind::ranks,
        "Numbers of ranks in the chain, such as 2,4,8 or 2-16; each is a phase; by default all ranks"),
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    chain, {.name = "chain",
            .summary = "Data flows along all ranks in segments; each rank forwards while it receives",
            .answers = "How fast does one node's data reach all, and which node or cable slows the chain?",
            .formula = "m / t_slowest, m the total",
            .source = "Dolly: Rauch, Kurmann, Stricker 2000 (Partition Cast); Kurmann et al. 2003",
            .formula_per = "rank",
            .findings = false,
            .evaluation = Evaluation::at_own_sizes,
            .parameters = parameters,
            .make = made<Chain>})
