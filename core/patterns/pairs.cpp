// The pairs of a list exchange, all at once and in both directions; or cumulatively, one more pair in each
// phase, as in Kurmann's tables, to find the number of pairs at which a rate drops.
#include <limits>

#include "base/error.hpp"
#include "patterns/pairing.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

// One end of a pair. A rank may be in several pairs, so each pair gets a place in the buffers that is free at
// both ends.
struct End {
  Rank peer;
  std::int32_t place;
  std::int64_t pair;  // index into the list
};

struct Table {
  std::vector<std::vector<End>> ends;  // [rank]
  std::int32_t places = 1, slots = 1;
};

std::int32_t first_free_place(const std::vector<End>& a, const std::vector<End>& b) {
  std::vector<bool> taken(a.size() + b.size() + 1);
  for (const auto* ends : {&a, &b})
    for (const End& end : *ends)
      if (const auto place = static_cast<std::size_t>(end.place); place < taken.size()) taken[place] = true;
  return static_cast<std::int32_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
}

Table make_table(const PairList& pairs, Rank ranks) {
  Table table;
  table.ends.resize(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto [a, b] = pairs[i];
    if (a >= ranks || b >= ranks) continue;  // refuse() reports these
    std::vector<End>& left = table.ends[static_cast<std::size_t>(a)];
    std::vector<End>& right = table.ends[static_cast<std::size_t>(b)];
    const std::int32_t place = first_free_place(left, right);
    left.push_back({b, place, static_cast<std::int64_t>(i)});
    right.push_back({a, place, static_cast<std::int64_t>(i)});
    table.places = std::max(table.places, place + 1);
    table.slots = std::max(table.slots, static_cast<std::int32_t>(std::max(left.size(), right.size())));
  }
  return table;
}

class PairsPhase final : public Phase {
 public:
  PairsPhase(Table table, std::int64_t bytes, std::int64_t pairs)
      : table_(std::move(table)), bytes_(bytes), pairs_(pairs) {}

  void emit(Rank rank, std::vector<Op>& ops) const override {
    std::int32_t slot = 0;
    for (const End& end : table_.ends[static_cast<std::size_t>(rank)])
      if (end.pair < pairs_) add_exchange(ops, end.peer, bytes_, end.place, slot++);
  }
  double credited_bytes(Rank rank) const override {
    double bytes = 0;
    for (const End& end : table_.ends[static_cast<std::size_t>(rank)])
      if (end.pair < pairs_) bytes += static_cast<double>(bytes_);
    return bytes;
  }
  std::string label() const override { return counted(pairs_, "pair"); }

 private:
  Table table_;
  std::int64_t bytes_, pairs_;
};

class Pairs final : public Pattern {
 public:
  explicit Pairs(const Parameters& given)
      : pairs_(given.pairs("pairs")), cumulative_(given.boolean("cumulative")) {
    PairList sorted = pairs_;
    for (auto& [a, b] : sorted)
      if (a > b) std::swap(a, b);
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
      throw UsageError("pattern pairs: --pairs names " + std::to_string(twice->first) + "-" +
                       std::to_string(twice->second) + " in both orders; a pair exchanges both ways anyway");
  }

  Extent extent(Rank ranks, std::int64_t bytes) const override {
    const Table table = make_table(pairs_of(ranks), ranks);
    const std::int64_t buffer_bytes = table.places * bytes;
    return {.phases = cumulative_ ? count(ranks) : 1,
            .slots = table.slots,
            .send_bytes = buffer_bytes,
            .receive_bytes = buffer_bytes};
  }
  std::vector<Rank> peers(Rank self, Rank ranks) const override {
    std::vector<Rank> peers;
    for (const auto& [a, b] : pairs_of(ranks)) {
      if (a == self) peers.push_back(b);
      if (b == self) peers.push_back(a);
    }
    std::sort(peers.begin(), peers.end());
    return peers;
  }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    const std::int64_t active = cumulative_ ? index + 1 : count(ranks);
    return std::make_unique<PairsPhase>(make_table(pairs_of(ranks), ranks), bytes, active);
  }
  std::string refuse(Rank ranks) const override {
    std::vector<Rank> named;
    for (const auto& [a, b] : pairs_) named.insert(named.end(), {a, b});
    return absent_rank("pairs", named, ranks);
  }

 private:
  // Returns the list; without one, neighbouring ranks: 0-1, 2-3, ...
  PairList pairs_of(Rank ranks) const {
    if (!pairs_.empty()) return pairs_;
    PairList neighbours;
    for (Rank rank = 0; rank + 1 < ranks; rank += 2) neighbours.emplace_back(rank, rank + 1);
    return neighbours;
  }
  std::int64_t count(Rank ranks) const {
    return pairs_.empty() ? ranks / 2 : static_cast<std::int64_t>(pairs_.size());
  }

  PairList pairs_;
  bool cumulative_;
};

const std::array parameters = {
    list_parameter("pairs", Parameter::Kind::pairs,
                   "Who exchanges with whom, as 0-24,1-25 or 0..23-24..47, or @FILE; without it 0-1,2-3 "
                   "and so on"),
    Parameter{.name = "cumulative",
              .kind = Parameter::Kind::boolean,
              .initial = "false",
              .help = "Add one pair of the list in each phase, instead of measuring all at once"},
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(pairs, {.name = "pairs",
                                .summary = "The pairs of a list exchange in both directions at once",
                                .answers = "How much do these routes carry together?",
                                .formula = "m / t_slowest, each direction and pair",
                                .source = "Kurmann et al. 2003, tables 3 and 5",
                                .formula_per = "rank",
                                .latency = true,
                                .parameters = parameters,
                                .make = made<Pairs>})
