// Random disjoint pairs: each phase shuffles the ranks, and position k exchanges with position k + n/2. With
// an odd number of ranks, the last position is idle.
#include "base/random.hpp"
#include "patterns/pairing.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

class RandomPairwise final : public PhasedPattern {
 public:
  explicit RandomPairwise(const Parameters& given)
      : phases_(given.integer("random-phases")), seed_(static_cast<std::uint64_t>(given.integer("seed"))) {}

  Extent extent(Rank, std::int64_t bytes) const override {
    return {.phases = phases_, .send_bytes = bytes, .receive_bytes = bytes};
  }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    std::vector<Rank> order = all_but(nobody, ranks);
    random_stream(seed_, static_cast<std::uint64_t>(index)).shuffle(order);
    const std::size_t half = order.size() / 2;
    return table_phase(bytes, most_credited_bytes(ranks, bytes, index),
                       paired(std::span(order).first(half), std::span(order).subspan(half), ranks));
  }
  // A label only names the idle rank, and an even number of ranks leaves none idle.
  std::string label(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    return ranks % 2 == 0 ? std::string() : phase(ranks, bytes, index)->label();
  }
  double most_credited_bytes(Rank, std::int64_t bytes, std::int64_t) const override {
    return 2.0 * static_cast<double>(bytes);
  }

 private:
  std::int64_t phases_;
  std::uint64_t seed_;
};

const std::array parameters = {
    integer_parameter("random-phases", "phases", "10", 1e9, "How many random pairings are measured"),
    seed_parameter("Same seed, same pairs, on every machine"),
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    random_pairwise,
    {.name = "random-pairwise",
     .summary = "Random disjoint pairs exchange in both directions at once, newly drawn each phase",
     .answers = "What rate can an application expect if its ranks were placed at random?",
     .formula = "2 m / t_slowest, both directions",
     .source = "Fatoohi et al. 2005, algorithm 4",
     .formula_per = "rank",
     .latency = true,
     .evaluation = Evaluation::at_shared_sizes,
     .parameters = parameters,
     .make = made<RandomPairwise>})
