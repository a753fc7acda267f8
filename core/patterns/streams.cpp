// n senders with k streams each to m receivers: stream s goes to receiver s mod m. Directions: in (to the
// receivers), out (back from them), or both. n, k and m may be lists; every combination is a phase. Incast is
// m = 1; figure 7 of Kurmann et al. has k = 4 and m = n k.
#include "base/error.hpp"
#include "patterns/operations.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

enum class Direction { in, out, both };

// Roles of the ranks in one phase.
struct Cast {
  RankList senders, receivers;
  std::int64_t streams = 1;  // of each sender
  Direction direction = Direction::in;

  std::int64_t total() const { return std::ssize(senders) * streams; }
  // Returns the most streams that one receiver has.
  std::int64_t share() const { return (total() + std::ssize(receivers) - 1) / std::ssize(receivers); }
};

class StreamsPhase final : public Phase {
 public:
  StreamsPhase(Cast cast, std::int64_t bytes) : cast_(std::move(cast)), bytes_(bytes) {}

  void emit(Rank rank, std::vector<Op>& ops) const override {
    const std::int64_t receivers = std::ssize(cast_.receivers);
    if (const std::int64_t at = position(cast_.receivers, rank); at >= 0) {
      for (std::int64_t s = at; s < cast_.total(); s += receivers)
        add_stream(ops, s, cast_.senders[static_cast<std::size_t>(s / cast_.streams)], true);
    }
    if (const std::int64_t at = position(cast_.senders, rank); at >= 0) {
      for (std::int64_t s = at * cast_.streams; s < (at + 1) * cast_.streams; ++s)
        add_stream(ops, s, cast_.receivers[static_cast<std::size_t>(s % receivers)], false);
    }
  }
  // Credits the bytes that arrive at the rank.
  double credited_bytes(Rank rank) const override {
    std::vector<Op> ops;
    emit(rank, ops);
    const auto arriving = [](const Op& op) { return op.kind == Op::Kind::receive; };
    return static_cast<double>(std::count_if(ops.begin(), ops.end(), arriving)) * static_cast<double>(bytes_);
  }
  std::string label() const override {
    static constexpr std::array names = {"in", "out", "both ways"};
    return counted(std::ssize(cast_.senders), "sender") + " x " + counted(cast_.streams, "stream") + ", " +
           counted(std::ssize(cast_.receivers), "receiver") + ", " +
           names[static_cast<std::size_t>(cast_.direction)];
  }

 private:
  static std::string counted(std::int64_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  }
  static std::int64_t position(const RankList& list, Rank rank) {
    const auto found = std::find(list.begin(), list.end(), rank);
    return found == list.end() ? -1 : found - list.begin();
  }
  // Appends one end's operations of stream s. Streams between the same two ranks use separate channels.
  // Places in the buffers count the receiving end's streams, so that no two share a place there.
  void add_stream(std::vector<Op>& ops, std::int64_t s, Rank peer, bool at_receiver) const {
    const std::int64_t of_sender = s % cast_.streams;
    const std::int64_t of_receiver = s / std::ssize(cast_.receivers);
    const auto channel = static_cast<std::uint8_t>(of_sender / std::ssize(cast_.receivers));
    for (const Direction way : {Direction::in, Direction::out}) {
      if (cast_.direction != Direction::both && cast_.direction != way) continue;
      const bool arrives = at_receiver == (way == Direction::in);
      const std::int64_t place = way == Direction::in ? of_receiver : of_sender;
      Op op = arrives ? receive_from(peer, bytes_, place * bytes_) : send_to(peer, bytes_, place * bytes_);
      op.channel = channel;
      if (arrives) op.slot = static_cast<std::int32_t>(place);
      add(ops, op);
    }
  }

  Cast cast_;
  std::int64_t bytes_;
};

struct Settings {
  RankList senders, streams, receivers;  // counts
  RankList receiver_ranks;
  std::vector<Direction> directions;
};

class Streams final : public PhasedPattern {
 public:
  explicit Streams(Settings settings) : settings_(std::move(settings)) {}

  Extent extent(Rank ranks, std::int64_t bytes) const override {
    std::int64_t places_in = 0, places_out = 0, channels = 1;
    for (std::int64_t index = 0; index < phases(); ++index) {
      const Cast cast = make_cast(ranks, index);
      if (cast.direction != Direction::out) places_in = std::max(places_in, cast.share());
      if (cast.direction != Direction::in) places_out = std::max(places_out, cast.streams);
      channels = std::max(channels, (cast.streams - 1) / std::ssize(cast.receivers) + 1);
    }
    const std::int64_t places = std::max(places_in, places_out);
    return {.phases = phases(),
            .slots = static_cast<std::int32_t>(places),
            .channels = static_cast<std::int32_t>(channels),
            .send_bytes = places * bytes,
            .receive_bytes = places * bytes};
  }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    return std::make_unique<StreamsPhase>(make_cast(ranks, index), bytes);
  }
  std::string refuse(Rank ranks) const override {
    constexpr std::int64_t most_channels = 255, most_streams = 1'000'000;
    std::string absent = absent_rank("receiver-ranks", settings_.receiver_ranks, ranks);
    if (!absent.empty()) return absent;
    for (const Rank receivers : settings_.receivers) {
      if (!settings_.receiver_ranks.empty() && receivers > std::ssize(settings_.receiver_ranks))
        return "--receivers " + std::to_string(receivers) + ", but --receiver-ranks names " +
               std::to_string(settings_.receiver_ranks.size());
      const std::int64_t there = settings_.receiver_ranks.empty() || receivers > 0
                                     ? receivers
                                     : std::ssize(settings_.receiver_ranks);
      for (const Rank senders : settings_.senders) {
        if (there + std::max(senders, 1) > ranks)
          return std::to_string(there) + " receivers and " + std::to_string(std::max(senders, 1)) +
                 " senders are more than " + std::to_string(ranks) + " ranks";
      }
      for (const Rank streams : settings_.streams) {
        if (std::int64_t{streams} * ranks > most_streams)
          return "--streams " + std::to_string(streams) + " of " + std::to_string(ranks) +
                 " ranks are more than " + std::to_string(most_streams) + " streams in all";
        if ((streams - 1) / there + 1 > most_channels)
          return "--streams " + std::to_string(streams) + " with " + std::to_string(there) +
                 " receivers puts more than " + std::to_string(most_channels) +
                 " streams between two ranks; lower --streams or raise --receivers";
      }
    }
    return {};
  }

 private:
  std::int64_t phases() const {
    return std::ssize(settings_.senders) * std::ssize(settings_.streams) * std::ssize(settings_.receivers) *
           std::ssize(settings_.directions);
  }
  // Returns the roles in phase `index`: senders vary fastest, then streams, receivers, direction.
  Cast make_cast(Rank ranks, std::int64_t index) const {
    const auto next = [&index](const auto& choices) {
      const auto chosen = choices[static_cast<std::size_t>(index % std::ssize(choices))];
      index /= std::ssize(choices);
      return chosen;
    };
    const Rank senders = next(settings_.senders);
    Cast cast;
    cast.streams = next(settings_.streams);
    const Rank receivers = next(settings_.receivers);
    cast.direction = next(settings_.directions);
    cast.receivers = settings_.receiver_ranks;
    for (Rank rank = 0; settings_.receiver_ranks.empty() && rank < receivers; ++rank)
      cast.receivers.push_back(rank);
    if (receivers > 0 && receivers < std::ssize(cast.receivers))
      cast.receivers.resize(static_cast<std::size_t>(receivers));
    std::vector<bool> taken(static_cast<std::size_t>(ranks));
    for (const Rank rank : cast.receivers)
      if (rank < ranks) taken[static_cast<std::size_t>(rank)] = true;
    for (Rank rank = 0; rank < ranks && (senders == 0 || std::ssize(cast.senders) < senders); ++rank)
      if (!taken[static_cast<std::size_t>(rank)]) cast.senders.push_back(rank);
    return cast;
  }

  Settings settings_;
};

// Returns a list of counts, or just `missing` if the user gave none.
RankList counts(const Parameters& parameters, std::string_view name, Rank missing) {
  RankList list = parameters.ranks(name);
  if (list.empty()) return {missing};
  if (std::find(list.begin(), list.end(), 0) != list.end())
    throw UsageError("pattern streams: --" + std::string(name) + " must be 1 or more");
  return list;
}

std::unique_ptr<Pattern> make(const Parameters& parameters) {
  Settings settings;
  settings.receiver_ranks = parameters.ranks("receiver-ranks");
  settings.senders = counts(parameters, "senders", 0);
  settings.streams = counts(parameters, "streams", 1);
  settings.receivers = counts(parameters, "receivers", settings.receiver_ranks.empty() ? 1 : 0);
  const std::string& direction = parameters.text("direction");
  for (const auto& [word, way] :
       {std::pair("in", Direction::in), {"out", Direction::out}, {"both", Direction::both}})
    if (direction == word || direction == "all") settings.directions.push_back(way);
  constexpr double most_phases = 10'000;
  const double phases =
      static_cast<double>(settings.senders.size()) * static_cast<double>(settings.streams.size()) *
      static_cast<double>(settings.receivers.size()) * static_cast<double>(settings.directions.size());
  if (phases > most_phases)
    throw UsageError(
        "pattern streams: senders, streams, receivers and directions make more than 10000 phases");
  return std::make_unique<Streams>(std::move(settings));
}

const std::array parameters = {
    list_parameter(
        "senders", Parameter::Kind::ranks,
        "How many ranks send, as 4, 1,2,4 or 1-8, each a phase; without it all ranks that do not receive"),
    list_parameter("streams", Parameter::Kind::ranks,
                   "Streams of each sender, one number or a list, each a phase", "streams", "1"),
    list_parameter("receivers", Parameter::Kind::ranks,
                   "How many ranks receive, one number or a list, each a phase; without it 1, or all of "
                   "receiver-ranks"),
    list_parameter("receiver-ranks", Parameter::Kind::ranks, "Which ranks receive; without it the first"),
    choice_parameter(
        "direction", {"in", "out", "both", "all"},
        "in: to the receivers; out: from the receivers; both: at once; all: one phase for each of the three"),
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    streams,
    {.name = "streams",
     .summary = "n senders with k streams each to m receivers, stream s to receiver s mod m",
     .answers = "What total rate does a trunk, a server or an incast receiver sustain, and how is it shared?",
     .formula = "sum of m received / t_slowest",
     .source = "Kurmann et al. 2003, figure 7",
     .formula_per = "phase",
     .shape = PatternShape::streams,
     .evaluation = Evaluation::at_own_sizes,
     .parameters = parameters,
     .make = make})
