// One collective operation, by each of its usual algorithms: a phase runs a whole algorithm without barriers,
// and a rank begins a round when its messages of the round before are complete. Messages carry no sums: only
// their sizes and their order are those of the operation. The library's own call can be a phase, too. Then
// ranks also add what they receive of a reduction, so that all phases do the same work.
//
// Sources: Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, IJHPCA
// 19(1), 2005, section 4; the rings of all-reduce and reduce-scatter: Patarasuk and Yuan, J. Parallel and
// Distributed Computing 69(2), 2009; pipelines: Sanders, Speck, Traeff: Two-Tree Algorithms for Full
// Bandwidth Broadcast, Reduction and Scan, Parallel Computing 35(12), 2009, section 2.
#include "patterns/rounds.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

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

struct Algorithm {
  std::string_view name;
  void (*emit)(Rounds&);
};

struct Operation {
  std::string_view name;
  Collective collective;
  std::span<const Algorithm> algorithms;
  // Bus bandwidth (nccl-tests, doc/PERFORMANCE.md) counts the vector this many times, each but a rank's own
  // block; 0: the whole vector once.
  double times;
  bool reduces = false;   // adds what it receives
  bool in_place = false;  // the library's call is measured in place, too
};

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
constexpr std::array operations{
    Operation{.name = "all-reduce",
              .collective = Collective::all_reduce,
              .algorithms = all_reduce,
              .times = 2,
              .reduces = true,
              .in_place = true},
    Operation{.name = "reduce-scatter",
              .collective = Collective::reduce_scatter,
              .algorithms = reduce_scatter,
              .times = 1,
              .reduces = true},
    Operation{.name = "all-gather",
              .collective = Collective::all_gather,
              .algorithms = all_gather,
              .times = 1,
              .in_place = true},
    Operation{.name = "broadcast", .collective = Collective::broadcast, .algorithms = broadcast, .times = 0},
    Operation{.name = "all-to-all",
              .collective = Collective::all_to_all,
              .algorithms = all_to_all,
              .times = 1,
              .in_place = true},
    Operation{.name = "all-to-all-v",
              .collective = Collective::all_to_all_v,
              .algorithms = all_to_all_v,
              .times = 1},
    Operation{.name = "barrier", .collective = Collective::barrier, .algorithms = barrier, .times = 0}};

class CollectivePattern final : public PhasedPattern {
 public:
  explicit CollectivePattern(const Parameters& given)
      : operation_(*std::ranges::find(operations, given.text("operation"), &Operation::name)),
        library_(given.text("library") != "no"),
        segment_(given.integer("segment")) {
    if (given.text("library") != "only") algorithms_ = operation_.algorithms;
  }

  Extent extent(Rank ranks, std::int64_t bytes) const override {
    const std::int64_t vector = library_ ? whole_vector(ranks, bytes) : bytes;
    return {.phases = std::ssize(algorithms_) + (library_ ? operation_.in_place ? 2 : 1 : 0),
            .send_bytes = vector,
            .receive_bytes = vector,
            .collectives = library_,
            .adds = adds()};
  }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    const double credited = share(ranks) * static_cast<double>(bytes);
    if (index >= std::ssize(algorithms_)) {
      const bool in_place = index > std::ssize(algorithms_);
      return std::make_unique<UniformPhase>(
          [=, this](Rank rank, std::vector<Op>& ops) {
            add(ops, library_call(rank, ranks, bytes, in_place));
          },
          credited, in_place ? "library, in place" : "library");
    }
    const Algorithm& algorithm = algorithms_[static_cast<std::size_t>(index)];
    const auto emit = [=, adds = adds(), segment = segment_](Rank rank, std::vector<Op>& ops) {
      Rounds rounds(rank, ranks, bytes, adds, ops, segment);
      algorithm.emit(rounds);
      rounds.finish();
    };
    return std::make_unique<UniformPhase>(emit, credited, std::string(algorithm.name));
  }
  // A library may send between any two ranks.
  std::vector<Rank> peers(Rank self, Rank ranks) const override {
    return library_ ? all_but(self, ranks) : PhasedPattern::peers(self, ranks);
  }
  std::vector<std::int64_t> default_sizes() const override {
    if (operation_.collective == Collective::barrier) return no_bytes;
    return Pattern::default_sizes();
  }

 private:
  // Returns how often a rank's vector counts in the bus bandwidth: without its own block.
  double share(Rank ranks) const {
    if (operation_.times == 0) return 1;
    if (operation_.collective == Collective::all_to_all_v) return 1 - 2 / (ranks * (ranks + 1.0));
    return operation_.times * (ranks - 1) / ranks;
  }
  bool adds() const { return library_ && !algorithms_.empty() && operation_.reduces; }
  // Returns the bytes of the library's vector: rounded up to whole words where it adds, and to equal blocks
  // where it divides the vector.
  std::int64_t whole_vector(Rank ranks, std::int64_t bytes) const {
    const std::int64_t unit = (operation_.reduces ? word_bytes : 1) * (operation_.times == 1 ? ranks : 1);
    return (bytes + unit - 1) / unit * unit;
  }
  Op library_call(Rank rank, Rank ranks, std::int64_t bytes, bool in_place) const {
    return {.kind = Op::Kind::collective,
            .peer = wrapped(std::int64_t{rank} - 1, ranks),
            .bytes = whole_vector(ranks, bytes),
            .slot = 0,
            .sample_bytes = bytes,
            .collective = operation_.collective,
            .in_place = in_place};
  }

  const Operation& operation_;
  bool library_;
  std::int64_t segment_;
  std::span<const Algorithm> algorithms_;
};

std::vector<std::string_view> names() {
  std::vector<std::string_view> found;
  for (const Operation& one : operations) found.push_back(one.name);
  return found;
}

const std::array parameters = {
    choice_parameter(
        "operation", names(),
        "The operation; each of its algorithms is a phase. The message size is that of the whole "
        "vector of a rank; a barrier carries nothing. The blocks of all-to-all-v are unequal, the "
        "largest nearly twice the mean"),
    choice_parameter("library", {"no", "also", "only"},
                     "Measure the communication library's own call (`--backend mpi`) beside the algorithms, "
                     "or only it. The algorithms then also add what they receive of a reduction, as it does"),
    bytes_parameter("segment", "64KiB",
                    "Size of the segments that a broadcast's pipelines pass on; at most 65,536 of them", 1),
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    collective,
    {.name = "collective",
     .summary = "A collective operation by each of its usual algorithms: one phase is one algorithm",
     .answers = "Which algorithm of a collective operation suits this network, by size?",
     .formula = "bus bandwidth: f m / t_slowest, f = 2 (P - 1) / P for all-reduce, 1 for broadcast and "
                "barrier, 1 - 2 / (P (P + 1)) for all-to-all-v, else (P - 1) / P",
     .source = "Thakur, Rabenseifner, Gropp 2005; Patarasuk, Yuan 2009; bus bandwidth as in nccl-tests",
     .formula_per = "rank",
     .shape = PatternShape::algorithms,
     .findings = false,
     .parameters = parameters,
     .make = made<CollectivePattern>})
