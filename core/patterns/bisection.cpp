// Cuts the ranks into two halves: each rank of one exchanges with a rank of the other, all at once. Each
// phase draws random halves or, if one half is given, new pairs across the same cut.
#include "base/random.hpp"
#include "patterns/pairing.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

class Bisection final : public PhasedPattern {
 public:
  explicit Bisection(const Parameters& given)
      : half_(given.ranks("half")),
        phases_(given.integer("cuts")),
        seed_(static_cast<std::uint64_t>(given.integer("seed"))) {}

  Extent extent(Rank, std::int64_t bytes) const override {
    return {.phases = phases_, .send_bytes = bytes, .receive_bytes = bytes};
  }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    Random random = random_stream(seed_, static_cast<std::uint64_t>(index));
    std::vector<Rank> order = all_but(nobody, ranks);
    random.shuffle(order);
    std::size_t cut = order.size() / 2;
    if (!half_.empty()) {
      std::vector<bool> inside(order.size());
      for (const Rank rank : half_) inside[static_cast<std::size_t>(rank)] = true;
      const auto end = std::stable_partition(
          order.begin(), order.end(), [&](Rank rank) { return inside[static_cast<std::size_t>(rank)]; });
      cut = static_cast<std::size_t>(end - order.begin());
    }
    return table_phase(bytes, static_cast<double>(bytes),
                       paired(std::span(order).first(cut), std::span(order).subspan(cut), ranks));
  }
  std::string refuse(Rank ranks) const override {
    std::string absent = absent_rank("half", half_, ranks);
    if (!absent.empty() || half_.size() < static_cast<std::size_t>(ranks)) return absent;
    return "--half names all " + std::to_string(ranks) + " ranks; the other half is empty";
  }

 private:
  RankList half_;  // empty: random
  std::int64_t phases_;
  std::uint64_t seed_;
};

const std::array parameters = {
    list_parameter("half", Parameter::Kind::ranks,
                   "The ranks on one side of the cut; without it each phase draws a random half"),
    integer_parameter("cuts", "phases", "10", 1e9,
                      "How many random halves, or pairings across the given cut, are measured"),
    seed_parameter("Same seed, same halves, on every machine"),
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    bisection,
    {.name = "bisection",
     .summary = "Cuts the ranks into two halves, at random unless --half names one; all pairs across the cut "
                "exchange at once, and the rate is the sum of both directions",
     .answers = "How much traffic crosses the middle of the network, for random halves or for a given cut?",
     .formula = "2 floor(n/2) m / t_slowest, the sum of both directions across the cut",
     .source =
         "Bisection bandwidth as Kurmann et al. 2003, section 3.2, and Salmon et al. 1998 use it; random "
         "halves after Hoefler, Schneider, Lumsdaine 2008 (effective bisection bandwidth)",
     .formula_per = "phase",
     .halves = true,
     .evaluation = Evaluation::at_own_sizes,
     .parameters = parameters,
     .make = made<Bisection>})
