// One collective operation, by each of its usual algorithms: a phase runs a whole algorithm without barriers,
// and a rank begins a round when its messages of the round before are complete. The library's own call can
// be a phase, too. Then ranks also add what they receive of a reduction, so that all phases do the same work.
// With `every`, fewer ranks take part: those of a node, if ranks are placed in blocks.
#include "base/error.hpp"
#include "patterns/collective_algorithms.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

// The ranks 0, every, 2 every, ... take part; the others have nothing to do.
struct TakingPart {
  Rank ranks, every;

  bool has(Rank rank) const { return rank % every == 0; }
  Rank count() const { return (ranks - 1) / every + 1; }
};

class CollectivePhase final : public Phase {
 public:
  using Emit = std::function<void(Rank position, Rank count, std::vector<Op>& ops)>;

  CollectivePhase(TakingPart who, Emit emit, double credited_bytes, std::string label)
      : who_(who), emit_(std::move(emit)), credited_bytes_(credited_bytes), label_(std::move(label)) {}
  void emit(Rank rank, std::vector<Op>& ops) const override {
    if (!who_.has(rank)) return;
    emit_(rank / who_.every, who_.count(), ops);
    for (Op& op : ops) op.peer *= who_.every;
  }
  double credited_bytes(Rank rank) const override { return who_.has(rank) ? credited_bytes_ : 0; }
  std::string label() const override { return label_; }

 private:
  TakingPart who_;
  Emit emit_;
  double credited_bytes_;
  std::string label_;
};

// "every 2nd rank"
std::string every_nth(Rank n) {
  if (n == 1) return "all ranks";
  const Rank ones = n / 10 % 10 == 1 ? 0 : n % 10;
  return "every " + std::to_string(n) +
         (ones == 1   ? "st"
          : ones == 2 ? "nd"
          : ones == 3 ? "rd"
                      : "th") +
         " rank";
}

class CollectivePattern final : public PhasedPattern {
 public:
  explicit CollectivePattern(const Parameters& given)
      : operation_(operation_named(given.text("operation"))),
        library_(given.text("library") != "no"),
        segment_(given.integer("segment")),
        every_(given.ranks("every")) {
    if (given.text("library") != "only") algorithms_ = operation_.algorithms;
    if (std::ranges::find(every_, 0) != every_.end())
      throw UsageError("pattern collective: --every must be 1 or more");
    if (every_.empty()) every_ = {1};
  }

  Extent extent(Rank ranks, std::int64_t bytes) const override {
    std::int64_t vector = bytes;
    for (const Rank every : every_)
      if (library_) vector = std::max(vector, whole_vector(TakingPart{ranks, every}.count(), bytes));
    return {.phases = phases_each() * std::ssize(every_),
            .send_bytes = vector,
            .receive_bytes = vector,
            .collectives = library_,
            .adds = adds()};
  }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    const Rank every = every_[static_cast<std::size_t>(index / phases_each())];
    const TakingPart who{ranks, every};
    const double credited = operation_.share(who.count()) * static_cast<double>(bytes);
    const std::string suffix = every_ == RankList{1} ? "" : ", " + every_nth(every);
    index %= phases_each();
    if (index >= std::ssize(algorithms_)) {
      const bool in_place = index > std::ssize(algorithms_);
      const auto call = [=, this](Rank position, Rank count, std::vector<Op>& ops) {
        add(ops, library_call(position, count, every, bytes, in_place));
      };
      return std::make_unique<CollectivePhase>(who, call, credited,
                                               (in_place ? "library, in place" : "library") + suffix);
    }
    const Algorithm& algorithm = algorithms_[static_cast<std::size_t>(index)];
    const auto emit = [=, adds = adds(), segment = segment_](Rank position, Rank count,
                                                             std::vector<Op>& ops) {
      Rounds rounds(position, count, bytes, adds, ops, segment);
      algorithm.emit(rounds);
      rounds.finish();
    };
    return std::make_unique<CollectivePhase>(who, emit, credited, std::string(algorithm.name) + suffix);
  }
  // A library may send between any two ranks.
  std::vector<Rank> peers(Rank self, Rank ranks) const override {
    return library_ ? all_but(self, ranks) : PhasedPattern::peers(self, ranks);
  }
  std::vector<std::int64_t> default_sizes() const override {
    if (operation_.collective == Collective::barrier) return no_bytes;
    return Pattern::default_sizes();
  }
  std::string refuse(Rank ranks) const override {
    for (const Rank every : every_)
      if (every > 1 && TakingPart{ranks, every}.count() < 2)
        return "--every " + std::to_string(every) + " leaves one of " + std::to_string(ranks) +
               " ranks; choose at most " + std::to_string(ranks - 1);
    return {};
  }

 private:
  std::int64_t phases_each() const {
    return std::ssize(algorithms_) + (library_ ? operation_.in_place ? 2 : 1 : 0);
  }
  bool adds() const { return library_ && !algorithms_.empty() && operation_.reduces; }
  // Returns the bytes of the library's vector: rounded up to whole words where it adds, and to equal blocks
  // where it divides the vector.
  std::int64_t whole_vector(Rank ranks, std::int64_t bytes) const {
    const std::int64_t unit = (operation_.reduces ? word_bytes : 1) * (operation_.times == 1 ? ranks : 1);
    return (bytes + unit - 1) / unit * unit;
  }
  Op library_call(Rank position, Rank count, Rank every, std::int64_t bytes, bool in_place) const {
    return {.kind = Op::Kind::collective,
            .peer = wrapped(std::int64_t{position} - 1, count),
            .bytes = whole_vector(count, bytes),
            .slot = 0,
            .sample_bytes = bytes,
            .collective = operation_.collective,
            .every = every,
            .in_place = in_place};
  }

  const Operation& operation_;
  bool library_;
  std::int64_t segment_;
  RankList every_;
  std::span<const Algorithm> algorithms_;
};

std::vector<std::string_view> names() {
  std::vector<std::string_view> found;
  for (const Operation& one : operations()) found.push_back(one.name);
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
    list_parameter("every", Parameter::Kind::ranks,
                   "Only every n-th rank takes part, each n a set of phases: 8,4,2,1 measures 1, 2, 4 and 8 "
                   "ranks of a node with 8 ranks in a block",
                   "ranks", "1"),
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
