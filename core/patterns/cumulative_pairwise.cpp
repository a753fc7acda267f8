// Neighbouring ranks exchange: (0,1) in the first phase, (2,3) as well in the second, until all do.
#include "patterns/pairing.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

class CumulativePairwise final : public Pattern {
 public:
  Extent extent(Rank ranks, std::int64_t bytes) const override {
    return {.phases = ranks / 2, .send_bytes = bytes, .receive_bytes = bytes};
  }
  std::vector<Rank> peers(Rank self, Rank ranks) const override {
    const Rank partner = self ^ 1;
    return partner < ranks ? std::vector{partner} : std::vector<Rank>{};
  }
  std::unique_ptr<Phase> phase(Rank, std::int64_t bytes, std::int64_t index) const override {
    const auto partner = [pairs = index + 1](Rank rank) { return rank / 2 < pairs ? rank ^ 1 : nobody; };
    return std::make_unique<ExchangePhase>(bytes, 2.0 * static_cast<double>(bytes), partner,
                                           counted(index + 1, "pair"));
  }
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    cumulative_pairwise,
    {.name = "cumulative-pairwise",
     .summary = "Ranks 0 and 1 exchange, then 2 and 3 as well, and so on: one pair more each phase",
     .answers =
         "How many pairs does it take before an adapter, switch or trunk no longer gives each the full rate?",
     .formula = "2 m / t_slowest, both directions",
     .source = "Fatoohi et al. 2005, algorithm 3",
     .formula_per = "rank",
     .evaluation = Evaluation::at_shared_sizes,
     .parameters = {},
     .make = made<CumulativePairwise>})
