// Measures every route. Serial: one pair at a time on an otherwise idle network; in phase s each rank in turn
// measures its route to rank + s, and an empty message passes the turn to the next rank. Parallel: a
// round-robin tournament of disjoint pairs, in which every rank meets every other once.
#include "patterns/pairing.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

enum class Mode { pingpong, transfer };

// The operations by which one rank measures a route and its peer helps. `round_trips` make one sample; in
// mode `transfer` the answer is an empty acknowledgement.
struct Probe {
  Mode mode;
  std::int64_t bytes, round_trips;
  std::int64_t out_offset;  // beyond the answers if a rank measures and helps at the same time

  std::int64_t answer_bytes() const { return mode == Mode::pingpong ? bytes : 0; }
  double divisor() const { return static_cast<double>(round_trips) * (mode == Mode::pingpong ? 2 : 1); }

  // Both return the `after` of an operation that follows all of theirs.
  After add_measuring(std::vector<Op>& ops, Rank peer, After after) const {
    const auto first = static_cast<OpIndex>(ops.size());
    for (std::int64_t i = 0; i < round_trips; ++i) {
      Op out = send_to(peer, bytes, out_offset);
      out.after = after;
      Op answer = receive_from(peer, answer_bytes());
      answer.channel = 1;
      answer.after = {add(ops, out), phase_start};
      if (i == round_trips - 1) {
        answer.slot = 0;
        answer.since = first;
        answer.divisor = divisor();
        answer.sample_bytes = bytes;
      }
      after = {add(ops, answer), phase_start};
    }
    return after;
  }
  After add_helping(std::vector<Op>& ops, Rank peer) const {
    After after = from_start;
    for (std::int64_t i = 0; i < round_trips; ++i) {
      Op in = receive_from(peer, bytes, out_offset);
      in.after = after;
      Op answer = send_to(peer, answer_bytes());
      answer.channel = 1;
      answer.after = {add(ops, in), phase_start};
      after = {add(ops, answer), phase_start};
    }
    return after;
  }
};

std::unique_ptr<Phase> serial_phase(Rank ranks, const Probe& probe, std::int64_t distance) {
  const auto emit = [=](Rank rank, std::vector<Op>& ops) {
    const auto passed_turn = [](Op op) {
      op.channel = 2;
      op.is_signal = true;
      return op;
    };
    probe.add_helping(ops, wrapped(rank - distance, ranks));
    After turn = from_start;
    if (rank > 0) turn = {add(ops, passed_turn(receive_from(rank - 1, 0))), phase_start};
    const After measured = probe.add_measuring(ops, wrapped(rank + distance, ranks), turn);
    if (rank + 1 == ranks) return;
    Op pass = passed_turn(send_to(rank + 1, 0));
    pass.after = measured;
    add(ops, pass);
  };
  const double credited_bytes =
      static_cast<double>(probe.bytes + probe.answer_bytes()) * static_cast<double>(probe.round_trips);
  return std::make_unique<UniformPhase>(emit, credited_bytes, "distance " + std::to_string(distance));
}

// Ping-pongs of disjoint pairs, all at once; the lower rank of each pair times.
class ParallelPingpongPhase final : public Phase {
 public:
  ParallelPingpongPhase(Rank ranks, Probe probe, std::int64_t round)
      : ranks_(ranks), probe_(probe), round_(round) {}

  void emit(Rank rank, std::vector<Op>& ops) const override {
    const Rank peer = tournament_partner(rank, round_, ranks_);
    if (peer == nobody) return;
    if (rank < peer) {
      probe_.add_measuring(ops, peer, from_start);
    } else {
      probe_.add_helping(ops, peer);
    }
  }
  double credited_bytes(Rank rank) const override {
    const bool plays = tournament_partner(rank, round_, ranks_) != nobody;
    return plays ? static_cast<double>(probe_.bytes) * static_cast<double>(probe_.round_trips) : 0;
  }
  std::string label() const override { return "round " + std::to_string(round_ + 1); }

 private:
  Rank ranks_;
  Probe probe_;
  std::int64_t round_;
};

class AllPairs final : public Pattern {
 public:
  explicit AllPairs(const Parameters& given)
      : serial_(given.text("form") == "serial"),
        mode_(given.text("mode") == "pingpong" ? Mode::pingpong : Mode::transfer),
        round_trips_(given.integer("round-trips")) {}

  Extent extent(Rank ranks, std::int64_t bytes) const override {
    // Not iterable: back to back, the first rank would start again while the last is still measuring.
    if (serial_)
      return {.phases = ranks - 1,
              .channels = 3,
              .send_bytes = 2 * bytes,
              .receive_bytes = 2 * bytes,
              .iterable = false};
    return {.phases = tournament_rounds(ranks), .channels = 2, .send_bytes = bytes, .receive_bytes = bytes};
  }
  std::vector<Rank> peers(Rank self, Rank ranks) const override { return all_but(self, ranks); }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    const Probe probe{mode_, bytes, round_trips_, serial_ ? bytes : 0};
    if (serial_) return serial_phase(ranks, probe, index + 1);
    if (mode_ == Mode::pingpong) return std::make_unique<ParallelPingpongPhase>(ranks, probe, index);
    const auto partner = [=](Rank rank) { return tournament_partner(rank, index, ranks); };
    return std::make_unique<ExchangePhase>(bytes, static_cast<double>(bytes), partner,
                                           "round " + std::to_string(index + 1));
  }

 private:
  bool serial_;
  Mode mode_;
  std::int64_t round_trips_;
};

const std::array parameters = {
    choice_parameter("form", {"serial", "parallel"},
                     "serial: one pair at a time; parallel: a round-robin tournament of disjoint pairs"),
    choice_parameter("mode", {"pingpong", "transfer"},
                     "pingpong: half a round trip; transfer: one message, acknowledged (serial), or one each "
                     "way at once (parallel)"),
    integer_parameter("round-trips", "", "1", 10'000, "Ping-pongs, or acknowledged messages, per sample"),
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    all_pairs,
    {.name = "all-pairs",
     .summary = "Measures every route: one after the other on an idle network, or in a tournament of pairs",
     .answers = "Which single route, node or cable is slower than its peers?",
     .formula = "sum of m transferred / t_slowest: the mean of routes (serial), or their sum",
     .source = "Every route by itself; the tournament is the circle method (Kirkman 1847)",
     .formula_per = "phase",
     .latency = true,
     .parameters = parameters,
     .make = made<AllPairs>})
