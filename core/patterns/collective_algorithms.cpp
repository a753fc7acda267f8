#include "patterns/collective_algorithms.hpp"

#include <array>
#include <bit>

namespace crosscut::patterns {

using program::Collective, program::uneven_block;

namespace {

// Runs `steps` on the largest power of two of ranks, as rank `own` of `count`. The others are folded in: each
// gives its vector to a neighbour before, and gets `back` from it afterwards. `real`: rank from number.
void folded(Rounds& r, const Blocks& back, const auto& steps) {
  const auto count = static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(r.ranks)));
  const Rank extra = r.ranks - count;
  const auto real = [&](Rank number) { return number < extra ? 2 * number + 1 : number + extra; };
  if (r.rank < 2 * extra && r.rank % 2 == 0) {
    r.send(r.rank + 1, r.all());
    r.receive(r.rank + 1, back);
    return;
  }
  r.reduces(true);
  if (r.rank < 2 * extra) r.receive(r.rank - 1, r.all());
  steps(r.rank < 2 * extra ? r.rank / 2 : r.rank - extra, count, real);
  if (r.rank < 2 * extra) r.send(r.rank - 1, back);
}

void recursive_doubling(Rounds& r) {
  folded(r, r.all(), [&](Rank own, Rank count, const auto& real) {
    for (Rank distance = 1; distance < count; distance *= 2) {
      const Rank partner = real(own ^ distance);
      r.exchange(partner, r.all(), partner, r.all());
    }
  });
}

void ring_reduce_scatter(Rounds& r) {
  r.reduces(true);
  for (Rank s = 0; s < r.ranks - 1; ++s)
    r.exchange(wrapped(r.rank + 1, r.ranks), r.blocks(r.rank - s), wrapped(r.rank - 1, r.ranks),
               r.blocks(r.rank - s - 1));
}

// `owned`: the block that a rank has at first, relative to its number.
void ring_all_gather(Rounds& r, Rank owned) {
  for (Rank s = 0; s < r.ranks - 1; ++s)
    r.exchange(wrapped(r.rank + 1, r.ranks), r.blocks(r.rank + owned - s), wrapped(r.rank - 1, r.ranks),
               r.blocks(r.rank + owned - s - 1));
}

void ring_all_reduce(Rounds& r) {
  ring_reduce_scatter(r);
  r.reduces(false);
  ring_all_gather(r, 1);
}

// Halves the range of blocks, of which there are `count`, until it is the block `own`.
void halve(Rounds& r, Rank own, Rank count, const auto& real) {
  for (Rank distance = count / 2; distance >= 1; distance /= 2) {
    const Rank mine = own & ~(distance - 1), partner = own ^ distance, its = partner & ~(distance - 1);
    r.exchange(real(partner), {r.bytes, count, its, distance}, real(partner),
               {r.bytes, count, mine, distance});
  }
}

void rabenseifner(Rounds& r) {
  folded(r, r.all(), [&](Rank own, Rank count, const auto& real) {
    halve(r, own, count, real);
    r.reduces(false);
    for (Rank distance = 1; distance < count; distance *= 2) {
      const Rank partner = own ^ distance;
      r.exchange(real(partner), {r.bytes, count, own & ~(distance - 1), distance}, real(partner),
                 {r.bytes, count, partner & ~(distance - 1), distance});
    }
  });
}

void recursive_halving(Rounds& r) {
  // The rank that is folded in gets its block, which is as large as any.
  folded(r, r.blocks(r.rank / 2 * 2),
         [&](Rank own, Rank count, const auto& real) { halve(r, own, count, real); });
}

// Sends `what(rank)` from rank 0 down a binomial tree.
void binomial_down(Rounds& r, const auto& what) {
  Rank distance = 1;
  while (distance < r.ranks && (r.rank & distance) == 0) distance *= 2;
  if (r.rank != 0) r.receive(r.rank - distance, what(r.rank, distance));
  for (distance /= 2; distance >= 1; distance /= 2)
    if (r.rank + distance < r.ranks) r.send(r.rank + distance, what(r.rank + distance, distance));
}

void binomial_broadcast(Rounds& r) {
  binomial_down(r, [&](Rank, Rank) { return r.all(); });
}

void binomial_reduce_and_broadcast(Rounds& r) {
  r.reduces(true);
  for (Rank distance = 1; distance < r.ranks; distance *= 2) {
    if ((r.rank & distance) != 0) {
      r.send(r.rank - distance, r.all());
      break;
    }
    if (r.rank + distance < r.ranks) r.receive(r.rank + distance, r.all());
  }
  r.reduces(false);
  binomial_broadcast(r);
}

void scatter_and_all_gather(Rounds& r) {
  binomial_down(r, [&](Rank to, Rank distance) { return r.blocks(to, std::min(distance, r.ranks - to)); });
  ring_all_gather(r, 0);
}

// Passes segments of the vector on from `parent`, while the next one arrives.
void pipeline(Rounds& r, Rank parent, std::span<const Rank> children) {
  const std::int64_t segments = r.segments();
  const auto part = [&](std::int64_t at) { return Blocks{r.bytes, segments, at, 1}; };
  for (std::int64_t at = 0; at <= segments; ++at) {
    const bool brings = parent != nobody && at < segments;
    const bool passes = at > 0 && !children.empty();
    if (brings && passes) {
      r.exchange(children.front(), part(at - 1), parent, part(at));
    } else if (brings) {
      r.receive(parent, part(at));
    } else if (passes) {
      r.send(children.front(), part(at - 1));
    }
    for (std::size_t i = 1; passes && i < children.size(); ++i) r.send(children[i], part(at - 1));
  }
}

void pipelined_chain(Rounds& r) {
  const std::array next{r.rank + 1};
  pipeline(r, r.rank == 0 ? nobody : r.rank - 1, std::span(next).first(r.rank + 1 < r.ranks ? 1 : 0));
}

void pipelined_binary_tree(Rounds& r) {
  const std::int64_t first = 2 * std::int64_t{r.rank} + 1;
  const std::array next{static_cast<Rank>(first), static_cast<Rank>(first + 1)};
  const auto count = std::clamp<std::int64_t>(r.ranks - first, 0, 2);
  pipeline(r, r.rank == 0 ? nobody : (r.rank - 1) / 2,
           std::span(next).first(static_cast<std::size_t>(count)));
}

void ring_gather(Rounds& r) { ring_all_gather(r, 0); }

void bruck_all_gather(Rounds& r) {
  for (Rank distance = 1; distance < r.ranks; distance *= 2) {
    const Rank count = std::min(distance, r.ranks - distance);
    r.exchange(wrapped(r.rank - distance, r.ranks), r.blocks(r.rank, count),
               wrapped(r.rank + distance, r.ranks), r.blocks(r.rank + distance, count));
  }
}

void pairwise_exchange(Rounds& r) {
  for (Rank s = 1; s < r.ranks; ++s)
    r.exchange(wrapped(r.rank + s, r.ranks), r.blocks(s), wrapped(r.rank - s, r.ranks), r.blocks(s));
}

void pairwise_exchange_of_uneven_blocks(Rounds& r) {
  for (Rank s = 1; s < r.ranks; ++s) {
    const Blocks block = uneven_block(r.bytes, r.ranks, s);
    r.exchange(wrapped(r.rank + s, r.ranks), block, wrapped(r.rank - s, r.ranks), block);
  }
}

// In each round a rank passes on the blocks whose distance to their destination has the round's bit.
void bruck_all_to_all(Rounds& r) {
  for (Rank distance = 1; distance < r.ranks; distance *= 2) {
    std::int64_t count = 0;
    for (Rank block = 1; block < r.ranks; ++block) count += (block & distance) != 0 ? 1 : 0;
    r.exchange(wrapped(r.rank + distance, r.ranks), r.blocks(0, count), wrapped(r.rank - distance, r.ranks),
               r.blocks(0, count));
  }
}

void dissemination(Rounds& r) {
  for (Rank distance = 1; distance < r.ranks; distance *= 2)
    r.exchange(wrapped(r.rank + distance, r.ranks), r.none(), wrapped(r.rank - distance, r.ranks), r.none());
}

constexpr std::array all_reduce{
    Algorithm{"ring", ring_all_reduce}, Algorithm{"recursive doubling", recursive_doubling},
    Algorithm{"Rabenseifner", rabenseifner}, Algorithm{"binomial trees", binomial_reduce_and_broadcast}};
constexpr std::array reduce_scatter{Algorithm{"ring", ring_reduce_scatter},
                                    Algorithm{"recursive halving", recursive_halving}};
constexpr std::array all_gather{Algorithm{"ring", ring_gather}, Algorithm{"Bruck", bruck_all_gather}};
constexpr std::array broadcast{Algorithm{"binomial tree", binomial_broadcast},
                               Algorithm{"scatter and all-gather", scatter_and_all_gather},
                               Algorithm{"pipelined chain", pipelined_chain},
                               Algorithm{"pipelined binary tree", pipelined_binary_tree}};
constexpr std::array all_to_all{Algorithm{"pairwise exchange", pairwise_exchange},
                                Algorithm{"Bruck", bruck_all_to_all}};
constexpr std::array all_to_all_v{Algorithm{"pairwise exchange", pairwise_exchange_of_uneven_blocks}};
constexpr std::array barrier{Algorithm{"dissemination", dissemination}};
constexpr std::array all_operations{Operation{.name = "all-reduce",
                                              .collective = Collective::all_reduce,
                                              .algorithms = all_reduce,
                                              .for_short = recursive_doubling,
                                              .for_long = rabenseifner,
                                              .times = 2,
                                              .reduces = true,
                                              .in_place = true},
                                    Operation{.name = "reduce-scatter",
                                              .collective = Collective::reduce_scatter,
                                              .algorithms = reduce_scatter,
                                              .for_short = recursive_halving,
                                              .for_long = ring_reduce_scatter,
                                              .times = 1,
                                              .reduces = true},
                                    Operation{.name = "all-gather",
                                              .collective = Collective::all_gather,
                                              .algorithms = all_gather,
                                              .for_short = bruck_all_gather,
                                              .for_long = ring_gather,
                                              .times = 1,
                                              .in_place = true},
                                    Operation{.name = "broadcast",
                                              .collective = Collective::broadcast,
                                              .algorithms = broadcast,
                                              .for_short = binomial_broadcast,
                                              .for_long = scatter_and_all_gather,
                                              .times = 0},
                                    Operation{.name = "all-to-all",
                                              .collective = Collective::all_to_all,
                                              .algorithms = all_to_all,
                                              .for_short = bruck_all_to_all,
                                              .for_long = pairwise_exchange,
                                              .times = 1,
                                              .in_place = true},
                                    Operation{.name = "all-to-all-v",
                                              .collective = Collective::all_to_all_v,
                                              .algorithms = all_to_all_v,
                                              .for_short = pairwise_exchange_of_uneven_blocks,
                                              .for_long = pairwise_exchange_of_uneven_blocks,
                                              .times = 1},
                                    Operation{.name = "barrier",
                                              .collective = Collective::barrier,
                                              .algorithms = barrier,
                                              .for_short = dissemination,
                                              .for_long = dissemination,
                                              .times = 0}};

}  // namespace

std::span<const Operation> operations() { return all_operations; }

std::int64_t messages_of(EmitRounds algorithm, Rank ranks) {
  std::int64_t most = 0;
  for (const Rank rank : {0, ranks - 1}) {
    std::vector<Op> ops;
    Rounds rounds(rank, ranks, ranks, false, ops);
    algorithm(rounds);
    most = std::max<std::int64_t>(most, std::ssize(ops));
  }
  return most;
}

const Operation& operation_named(std::string_view name) {
  return *std::ranges::find(operations(), name, &Operation::name);
}

}  // namespace crosscut::patterns
