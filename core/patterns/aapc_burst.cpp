// All-to-all personalised communication in one burst: every rank posts its messages to all others at once.
// Nothing orders the messages, so congestion at the receivers is left to chance.
#include "patterns/operations.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

class AapcBurst final : public Pattern {
 public:
  Extent extent(Rank ranks, std::int64_t bytes) const override {
    const std::int64_t all = (ranks - 1) * bytes;
    return {.phases = 1, .slots = ranks - 1, .send_bytes = all, .receive_bytes = all};
  }
  std::vector<Rank> peers(Rank self, Rank ranks) const override { return all_but(self, ranks); }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t) const override {
    const auto emit = [=](Rank rank, std::vector<Op>& ops) {
      for (Rank distance = 1; distance < ranks; ++distance) {
        Op receive = receive_from(wrapped(rank - distance, ranks), bytes, (distance - 1) * bytes);
        receive.slot = distance - 1;
        add(ops, receive);
      }
      for (Rank distance = 1; distance < ranks; ++distance)
        add(ops, send_to(wrapped(rank + distance, ranks), bytes, (distance - 1) * bytes));
    };
    return std::make_unique<UniformPhase>(emit, static_cast<double>(ranks - 1) * static_cast<double>(bytes));
  }
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    aapc_burst,
    {.name = "aapc-burst",
     .summary = "All-to-all at once: each rank sends to and receives from all others, in no order",
     .answers = "What does an all-to-all lose when nobody controls the congestion?",
     .formula = "(n - 1) m / t_slowest",
     .source = "Kurmann et al. 2003, section 4.2.1",
     .formula_per = "rank",
     .evaluation = Evaluation::at_shared_sizes,
     .parameters = {},
     .make = made<AapcBurst>})
