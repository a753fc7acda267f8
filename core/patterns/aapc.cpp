// Phased all-to-all personalised communication: in phase s every rank sends to rank + s and receives from
// rank - s. Each phase is a permutation, so no receiver is ever sent to by two.
#include "patterns/operations.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

class AapcPhase final : public Phase {
 public:
  AapcPhase(Rank ranks, std::int64_t bytes, std::int64_t distance)
      : ranks_(ranks), bytes_(bytes), distance_(distance) {}

  void emit(Rank rank, std::vector<Op>& ops) const override {
    Op receive = receive_from(wrapped(rank - distance_, ranks_), bytes_);
    receive.slot = 0;
    add(ops, receive);
    add(ops, send_to(wrapped(rank + distance_, ranks_), bytes_));
  }
  double credited_bytes(Rank) const override { return 2.0 * static_cast<double>(bytes_); }
  std::string label() const override { return "distance " + std::to_string(distance_); }

 private:
  Rank ranks_;
  std::int64_t bytes_, distance_;
};

class Aapc final : public Pattern {
 public:
  Extent extent(Rank ranks, std::int64_t bytes) const override {
    return {.phases = ranks - 1, .send_bytes = bytes, .receive_bytes = bytes};
  }
  std::vector<Rank> peers(Rank self, Rank ranks) const override { return all_but(self, ranks); }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    return std::make_unique<AapcPhase>(ranks, bytes, index + 1);
  }
  double most_credited_bytes(Rank, std::int64_t bytes, std::int64_t) const override {
    return 2.0 * static_cast<double>(bytes);
  }
};

std::unique_ptr<Pattern> make(const Parameters&) { return std::make_unique<Aapc>(); }

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    aapc,
    {.name = "aapc",
     .summary = "All-to-all in phases: in phase s each rank sends to rank + s and receives from rank - s",
     .answers = "Does the network carry every permutation by a distance at full rate, and which not?",
     .formula = "2 m / t_slowest",
     .source = "Kurmann et al. 2003, section 4.2.2; Fatoohi et al. 2005, algorithm 1",
     .formula_per = "rank",
     .latency = true,
     .evaluation = Evaluation::at_shared_sizes,
     .parameters = {},
     .make = make})
