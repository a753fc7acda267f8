// In phase s every rank sends to and receives from both rank + s and rank - s: four transfers. With an even
// number of ranks, both are the same partner in the last phase, halfway round the ring.
#include "patterns/operations.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

class SimplePairwise final : public Pattern {
 public:
  Extent extent(Rank ranks, std::int64_t bytes) const override {
    return {.phases = ranks / 2, .slots = 2, .send_bytes = 2 * bytes, .receive_bytes = 2 * bytes};
  }
  std::vector<Rank> peers(Rank self, Rank ranks) const override { return all_but(self, ranks); }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    const std::int64_t distance = index + 1;
    const auto emit = [=](Rank rank, std::vector<Op>& ops) {
      const Rank above = wrapped(rank + distance, ranks), below = wrapped(rank - distance, ranks);
      // A message sent up is received from below, so each comes first in its direction. The order matters if
      // above and below are the same rank.
      Op from_below = receive_from(below, bytes, 0), from_above = receive_from(above, bytes, bytes);
      from_below.slot = 0;
      from_above.slot = 1;
      add(ops, from_below);
      add(ops, from_above);
      add(ops, send_to(above, bytes, 0));
      add(ops, send_to(below, bytes, bytes));
    };
    return std::make_unique<UniformPhase>(emit, 4.0 * static_cast<double>(bytes),
                                          "distance " + std::to_string(distance));
  }
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    simple_pairwise,
    {.name = "simple-pairwise",
     .summary = "In phase s each rank sends to and receives from both rank + s and rank - s",
     .answers = "What do adapters and network carry with two partners, both ways, at every distance?",
     .formula = "4 m / t_slowest",
     .source = "Fatoohi et al. 2005, algorithm 2",
     .formula_per = "rank",
     .latency = true,
     .evaluation = Evaluation::at_shared_sizes,
     .parameters = {},
     .make = made<SimplePairwise>})
