// Phases in which ranks pair off, and each pair exchanges one message in each direction at once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "patterns/operations.hpp"

namespace crosscut::patterns {

class ExchangePhase final : public program::Phase {
 public:
  using Partner = std::function<Rank(Rank rank)>;  // returns `nobody` for an idle rank

  // `credited_bytes` is credited to every rank that has a partner.
  ExchangePhase(std::int64_t bytes, double credited_bytes, Partner partner, std::string label)
      : bytes_(bytes),
        credited_bytes_(credited_bytes),
        partner_(std::move(partner)),
        label_(std::move(label)) {}
  void emit(Rank rank, std::vector<program::Op>& ops) const override {
    const Rank peer = partner_(rank);
    if (peer != nobody) add_exchange(ops, peer, bytes_);
  }
  double credited_bytes(Rank rank) const override { return partner_(rank) == nobody ? 0 : credited_bytes_; }
  std::string label() const override { return label_; }

 private:
  std::int64_t bytes_;
  double credited_bytes_;
  Partner partner_;
  std::string label_;
};

// Returns the partner of each rank, [rank]: left[i] is paired with right[i], up to the end of the shorter
// list; all others have `nobody`.
inline std::vector<Rank> paired(std::span<const Rank> left, std::span<const Rank> right, Rank ranks) {
  std::vector<Rank> partners(static_cast<std::size_t>(ranks), nobody);
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    partners[static_cast<std::size_t>(left[i])] = right[i];
    partners[static_cast<std::size_t>(right[i])] = left[i];
  }
  return partners;
}

inline std::string idle_label(std::span<const Rank> partners) {
  std::vector<Rank> idle;
  for (std::size_t rank = 0; rank < partners.size(); ++rank)
    if (partners[rank] == nobody) idle.push_back(static_cast<Rank>(rank));
  return idle.empty() ? std::string() : "idle: " + listed(idle);
}

// Makes a phase from a table of partners, [rank]; its label names the idle ranks.
inline std::unique_ptr<program::Phase> table_phase(std::int64_t bytes, double credited_bytes,
                                                   std::vector<Rank> partners) {
  std::string label = idle_label(partners);
  return std::make_unique<ExchangePhase>(
      bytes, credited_bytes,
      [partners = std::move(partners)](Rank rank) { return partners[static_cast<std::size_t>(rank)]; },
      std::move(label));
}

// Round-robin tournament (circle method, Kirkman 1847): in `tournament_rounds` rounds every rank meets every
// other once. With an odd number of ranks, each sits out one round.
inline Rank tournament_rounds(Rank ranks) { return ranks % 2 == 0 ? ranks - 1 : ranks; }

inline Rank tournament_partner(Rank rank, std::int64_t round, Rank ranks) {
  const std::int64_t circle = tournament_rounds(ranks);  // odd
  // Ranks of the circle whose sum is `round` (mod circle) meet. The one that would meet itself meets the rank
  // outside the circle.
  const std::int64_t alone = round * ((circle + 1) / 2) % circle;  // 2 * alone = round (mod circle)
  if (rank == circle) return static_cast<Rank>(alone);
  if (rank == alone) return ranks % 2 == 0 ? static_cast<Rank>(circle) : nobody;
  return wrapped(round - rank, circle);
}

}  // namespace crosscut::patterns
