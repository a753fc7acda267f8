// Phased all-to-all personalised communication (AAPC): in phase s every rank sends to rank + s and receives
// from rank - s. Each phase is a permutation, so no receiver has two senders.
#include "patterns/operations.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

class Aapc final : public Pattern {
 public:
  Extent extent(Rank ranks, std::int64_t bytes) const override {
    return {.phases = ranks - 1, .send_bytes = bytes, .receive_bytes = bytes};
  }
  std::vector<Rank> peers(Rank self, Rank ranks) const override { return all_but(self, ranks); }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    const std::int64_t distance = index + 1;
    const auto emit = [=](Rank rank, std::vector<Op>& ops) {
      Op receive = receive_from(wrapped(rank - distance, ranks), bytes);
      receive.slot = 0;
      add(ops, receive);
      add(ops, send_to(wrapped(rank + distance, ranks), bytes));
    };
    return std::make_unique<UniformPhase>(emit, most_credited_bytes(ranks, bytes, index),
                                          "distance " + std::to_string(distance));
  }
  double most_credited_bytes(Rank, std::int64_t bytes, std::int64_t) const override {
    return 2.0 * static_cast<double>(bytes);
  }
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    aapc,
    {.name = "aapc",
     .summary = "All-to-all in phases: in phase s each rank sends to rank + s and receives from rank - s",
     .answers = "At which distances between partners does the network fall short of the full rate?",
     .formula = "2 m / t_slowest, both directions",
     .source = "phases: Kurmann et al. 2003, section 4.2.2; formula: Fatoohi et al. 2005, algorithm 1",
     .formula_per = "rank",
     .latency = true,
     .evaluation = Evaluation::at_shared_sizes,
     .parameters = {},
     .make = made<Aapc>})
