// Disjoint pairs at a stride exchange, all at once and in both directions. Stride t splits the n ranks into
// gcd(n, t) cycles r, r + t, r + 2t, ...; starting at a cycle's lowest rank, every other edge is a pair. A
// cycle of odd length leaves its last rank idle.
#include <numeric>

#include "patterns/pairing.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

// Returns x with a x = 1 (mod m); a and m must have no common factor.
std::int64_t inverse_modulo(std::int64_t a, std::int64_t m) {
  std::int64_t x = 1, next_x = 0, rest = a % m, next_rest = m;
  while (next_rest != 0) {
    const std::int64_t quotient = rest / next_rest;
    x = std::exchange(next_x, x - quotient * next_x);
    rest = std::exchange(next_rest, rest - quotient * next_rest);
  }
  return wrapped(x, m);
}

std::unique_ptr<Phase> stride_phase(Rank ranks, std::int64_t bytes, Rank stride) {
  const Rank cycles = std::gcd(ranks, stride), length = ranks / cycles;
  const std::int64_t inverse = inverse_modulo(stride / cycles, length);
  const auto partner = [=](Rank rank) {
    const std::int64_t step = (rank / cycles) * inverse % length;  // along the cycle, from its lowest rank
    if (step % 2 == 1) return wrapped(std::int64_t{rank} - stride, ranks);
    return step == length - 1 ? nobody : wrapped(std::int64_t{rank} + stride, ranks);
  };
  std::string label = "stride " + std::to_string(stride);
  if (length % 2 != 0) {
    std::vector<Rank> idle;
    for (Rank lowest = 0; lowest < cycles; ++lowest)
      idle.push_back(wrapped(std::int64_t{lowest} - stride, ranks));
    std::sort(idle.begin(), idle.end());
    label += ", idle: " + listed(idle);
  }
  return std::make_unique<ExchangePhase>(bytes, static_cast<double>(bytes), partner, std::move(label));
}

class Pairwise final : public PhasedPattern {
 public:
  explicit Pairwise(const Parameters& given) : strides_(given.ranks("stride")) {}

  Extent extent(Rank ranks, std::int64_t bytes) const override {
    const std::int64_t phases = strides_.empty() ? ranks / 2 : static_cast<std::int64_t>(strides_.size());
    return {.phases = phases, .send_bytes = bytes, .receive_bytes = bytes};
  }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    const Rank stride =
        strides_.empty() ? static_cast<Rank>(index) + 1 : strides_[static_cast<std::size_t>(index)];
    return stride_phase(ranks, bytes, stride);
  }
  std::string refuse(Rank ranks) const override {
    for (const Rank stride : strides_) {
      if (stride < 1 || stride >= ranks)
        return "--stride " + std::to_string(stride) + " is out of range: with " + std::to_string(ranks) +
               " ranks it must be 1 to " + std::to_string(ranks - 1);
    }
    return {};
  }

 private:
  RankList strides_;  // empty: 1 to n/2
};

const std::array parameters = {
    list_parameter("stride", Parameter::Kind::ranks,
                   "Distance between partners: one, a list or a range, as 1, 1,24,48 or 1-32, each a phase; "
                   "without it 1 to n/2"),
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    pairwise,
    {.name = "pairwise",
     .summary = "Disjoint pairs at a stride exchange in both directions at once, one stride a phase",
     .answers =
         "At which distance between partners, and hence in which part of the network, is the rate too low?",
     .formula = "m / t_slowest, each direction",
     .source = "Kurmann et al. 2003, section 5.2, tables 3 and 5",
     .formula_per = "rank",
     .latency = true,
     .evaluation = Evaluation::at_shared_sizes,
     .parameters = parameters,
     .make = made<Pairwise>})
