// Short messages, many in flight: ranks of the first half each send windows of messages to one of the second
// half, which answers every window. Phases have 1, 2, 4, ... pairs, so that the rate of one rank, of a node
// and of the network can be told apart.
#include "base/error.hpp"
#include "patterns/operations.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

class AnsweredPhase final : public Phase {
 public:
  AnsweredPhase(Rank ranks, Rank pairs, std::int64_t bytes)
      : half_(ranks / 2), pairs_(pairs), bytes_(bytes) {}

  void emit(Rank rank, std::vector<Op>& ops) const override {
    if (rank < pairs_) {
      add(ops, send_to(rank + half_, bytes_));
      add(ops, signal(receive_from(rank + half_, 0)));
    } else if (receives(rank)) {
      Op op = receive_from(rank - half_, bytes_);
      op.slot = 0;
      Op answer = signal(send_to(rank - half_, 0));
      answer.after = {add(ops, op), phase_start};
      add(ops, answer);
    }
  }
  // Credits the bytes that arrive at the rank.
  double credited_bytes(Rank rank) const override { return receives(rank) ? static_cast<double>(bytes_) : 0; }
  std::string label() const override { return counted(pairs_, "pair"); }

 private:
  bool receives(Rank rank) const { return rank >= half_ && rank < half_ + pairs_; }

  static Op signal(Op op) {
    op.is_signal = true;
    return op;
  }

  Rank half_, pairs_;
  std::int64_t bytes_;
};

class MessageRate final : public PhasedPattern {
 public:
  explicit MessageRate(const Parameters& given) : senders_(given.ranks("senders")) {
    if (std::find(senders_.begin(), senders_.end(), 0) != senders_.end())
      throw UsageError("pattern message-rate: --senders must be 1 or more");
  }

  Extent extent(Rank ranks, std::int64_t bytes) const override {
    return {.phases = std::ssize(counts(ranks)), .send_bytes = bytes, .receive_bytes = bytes};
  }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    return std::make_unique<AnsweredPhase>(ranks, counts(ranks)[static_cast<std::size_t>(index)], bytes);
  }
  std::vector<std::int64_t> default_sizes() const override { return {8}; }
  std::string refuse(Rank ranks) const override {
    const auto most = std::max_element(senders_.begin(), senders_.end());
    if (most == senders_.end() || *most <= ranks / 2) return {};
    return "--senders " + std::to_string(*most) + ", but half of " + std::to_string(ranks) + " ranks are " +
           std::to_string(ranks / 2);
  }

 private:
  // Returns the numbers of pairs, a phase each.
  RankList counts(Rank ranks) const {
    if (!senders_.empty()) return senders_;
    RankList doubled;
    for (Rank pairs = 1; pairs < ranks / 2; pairs *= 2) doubled.push_back(pairs);
    doubled.push_back(ranks / 2);
    return doubled;
  }

  RankList senders_;
};

const std::array parameters = {
    list_parameter(
        "senders", Parameter::Kind::ranks,
        "How many ranks send, as 4, 1,2,4 or 1-8, each a phase; without it 1, 2, 4 and so on up to "
        "half of the ranks"),
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    message_rate,
    {.name = "message-rate",
     .summary = "Each of n ranks sends windows of messages to a rank of the other half, which answers each",
     .answers = "How many short messages per second do a rank, a node and the network carry?",
     .formula = "sum of m received / t_slowest; over m: messages per second",
     .source = "osu_mbw_mr of the OSU micro-benchmarks; the gap of LogP, Culler et al. 1993",
     .formula_per = "phase",
     .shape = PatternShape::streams,
     .findings = false,
     .window = 64,
     .parameters = parameters,
     .make = made<MessageRate>})
