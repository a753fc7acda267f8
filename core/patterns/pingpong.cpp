// NetPIPE's point-to-point tests, one pair a phase with all other ranks silent: ping-pong (half a round
// trip), a stream one way, or both ways at once. Sizes grow exponentially, with perturbations around each, so
// that a threshold exactly at a power of two shows.
#include "base/error.hpp"
#include "patterns/operations.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

enum class Mode { pingpong, stream, bidirectional };

struct Settings {
  PairList pairs;  // empty: all
  Mode mode = Mode::pingpong;
  std::int64_t count = 1;  // messages of a stream
  bool one_buffer = false;
  std::int64_t perturbation = 0, maximum = 0;
};

class PairPhase final : public Phase {
 public:
  PairPhase(Rank first, Rank second, std::int64_t bytes, Mode mode, std::int64_t count)
      : first_(first), second_(second), bytes_(bytes), mode_(mode), count_(count) {}

  void emit(Rank rank, std::vector<Op>& ops) const override {
    if (rank != first_ && rank != second_) return;
    const Rank peer = rank == first_ ? second_ : first_;
    if (mode_ == Mode::bidirectional) {
      add_exchange(ops, peer, bytes_);
    } else if (mode_ == Mode::pingpong) {
      rank == first_ ? add_ping(ops, peer, bytes_, from_start, 0) : add_pong(ops, peer, bytes_, from_start);
    } else {
      rank == first_ ? add_source(ops, peer) : add_sink(ops, peer);
    }
  }
  double credited_bytes(Rank rank) const override {
    if (rank != first_ && rank != second_) return 0;
    const std::int64_t messages = mode_ == Mode::stream ? count_ : 2;
    return static_cast<double>(messages) * static_cast<double>(bytes_);
  }
  std::string label() const override { return std::to_string(first_) + "-" + std::to_string(second_); }

 private:
  // The sample is the time of one message: the time of the whole stream with its acknowledgement, divided by
  // the number of messages.
  void add_source(std::vector<Op>& ops, Rank peer) const {
    Stream stream;
    for (std::int64_t i = 0; i < count_; ++i) stream.add(ops, send_to(peer, bytes_, stream.place() * bytes_));
    Op acknowledged = receive_from(peer, 0);
    acknowledged.channel = 1;
    acknowledged.is_signal = true;
    acknowledged.slot = 0;
    acknowledged.since = 0;
    acknowledged.divisor = static_cast<double>(count_);
    acknowledged.sample_bytes = bytes_;
    add(ops, acknowledged);
  }
  void add_sink(std::vector<Op>& ops, Rank peer) const {
    Stream stream;
    for (std::int64_t i = 0; i < count_; ++i)
      stream.add(ops, receive_from(peer, bytes_, stream.place() * bytes_));
    Op acknowledge = send_to(peer, 0);
    acknowledge.channel = 1;
    acknowledge.is_signal = true;
    acknowledge.after = stream.all();
    add(ops, acknowledge);
  }

  Rank first_, second_;
  std::int64_t bytes_;
  Mode mode_;
  std::int64_t count_;
};

// Returns the sizes of NetPIPE 3 and later, in bytes: 1, 2, 3, 4, 6, 8, 12, ..., with `perturbation` below
// and above wherever the step to the next size leaves room.
std::vector<std::int64_t> netpipe_sizes(std::int64_t maximum, std::int64_t perturbation) {
  std::vector<std::int64_t> sizes;
  std::int64_t step = 1;
  for (std::int64_t size = 1, number = 1; size <= maximum; size += step, ++number) {
    if (number > 2 && number % 2 == 0) step *= 2;
    sizes.push_back(size);
    if (perturbation > 0 && step > perturbation + 1)
      sizes.insert(sizes.end(), {size - perturbation, size + perturbation});
  }
  sort_once(sizes);
  return sizes;
}

std::pair<Rank, Rank> nth_of_all(Rank ranks, std::int64_t index) {
  Rank first = 0;
  for (; index >= ranks - 1 - first; ++first) index -= ranks - 1 - first;
  return {first, first + 1 + static_cast<Rank>(index)};
}

class Pingpong final : public PhasedPattern {
 public:
  explicit Pingpong(Settings settings) : settings_(std::move(settings)) {}

  Extent extent(Rank ranks, std::int64_t bytes) const override {
    const std::int64_t buffer_bytes = settings_.mode == Mode::stream ? 2 * bytes : bytes;
    return {.phases = phases(ranks),
            .channels = 2,
            .send_bytes = buffer_bytes,
            .receive_bytes = buffer_bytes,
            .one_buffer = settings_.one_buffer};
  }
  std::vector<Rank> peers(Rank self, Rank ranks) const override {
    if (settings_.pairs.empty()) return all_but(self, ranks);
    return PhasedPattern::peers(self, ranks);
  }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    const auto [first, second] =
        settings_.pairs.empty() ? nth_of_all(ranks, index) : settings_.pairs[static_cast<std::size_t>(index)];
    return std::make_unique<PairPhase>(first, second, bytes, settings_.mode, settings_.count);
  }
  std::vector<std::int64_t> default_sizes() const override {
    return netpipe_sizes(settings_.maximum, settings_.perturbation);
  }
  std::string refuse(Rank ranks) const override {
    constexpr std::int64_t most_phases = 10'000;  // samples are kept as phases x ranks
    if (phases(ranks) > most_phases)
      return "--pairs makes " + std::to_string(phases(ranks)) + " phases, more than " +
             std::to_string(most_phases) + "; use the pattern all-pairs, or fewer pairs";
    std::vector<Rank> named;
    for (const auto& [a, b] : settings_.pairs) named.insert(named.end(), {a, b});
    return absent_rank("pairs", named, ranks);
  }

 private:
  std::int64_t phases(Rank ranks) const {
    if (settings_.pairs.empty()) return std::int64_t{ranks} * (ranks - 1) / 2;
    return static_cast<std::int64_t>(settings_.pairs.size());
  }

  Settings settings_;
};

std::unique_ptr<Pattern> make(const Parameters& parameters) {
  Settings settings;
  try {
    if (parameters.text("pairs") != "all") settings.pairs = parse_pairs(parameters.text("pairs"));
  } catch (const UsageError& error) {
    throw UsageError(std::string("pattern pingpong: --pairs: ") + error.what() + "; or write all");
  }
  const std::string& mode = parameters.text("mode");
  if (mode == "stream") settings.mode = Mode::stream;
  if (mode == "bidirectional") settings.mode = Mode::bidirectional;
  settings.count = parameters.integer("count");
  settings.one_buffer = parameters.text("buffers") == "one";
  if (settings.one_buffer && settings.mode != Mode::pingpong)
    throw UsageError(
        "pattern pingpong: --buffers one works only with --mode pingpong; the other modes send and receive "
        "at the same time");
  settings.perturbation = parameters.integer("perturbation");
  settings.maximum = parameters.integer("maximum");
  return std::make_unique<Pingpong>(std::move(settings));
}

const std::array parameters = {
    list_parameter("pairs", Parameter::Kind::text,
                   "Pairs measured one after the other, as 0-1,0-8 or 0..3-4..7 or @FILE, or all; the first "
                   "rank of each times",
                   "ranks", "0-1"),
    choice_parameter("mode", {"pingpong", "stream", "bidirectional"},
                     "pingpong: half a round trip; stream: messages one way, one after another; "
                     "bidirectional: one each way at once"),
    integer_parameter("count", "messages", "16", 1e5, "Messages of a stream before it is acknowledged"),
    choice_parameter(
        "buffers", {"two", "one"},
        "two: separate send and receive buffers; one: a message is sent back from where it arrived, as in "
        "NetPIPE, so that it comes from the cache"),
    bytes_parameter("perturbation", "3",
                    "Without --size: also measure this many bytes below and above each size; 0: do not"),
    bytes_parameter("maximum", "4MiB",
                    "Without --size: sizes grow from 1 byte up to this, and above by --perturbation", 1,
                    1e12),
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    pingpong,
    {.name = "pingpong",
     .summary =
         "One pair at a time: ping-pong, stream or both ways at once, over exponentially growing sizes",
     .answers = "What latency and rate does a single route have at each message size?",
     .formula = "m / half round trip; stream: m count / t; bidirectional: 2 m / t",
     .source = "NetPIPE (Snell, Mikler, Gustafson 1996), as Bode et al. 2004 use it",
     .formula_per = "rank",
     .shape = PatternShape::sweep,
     .findings = false,
     .latency = true,
     .evaluation = Evaluation::at_own_sizes,
     .parameters = parameters,
     .make = make})
