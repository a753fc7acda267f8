// Victims measure latency and rate, first alone, then while all other ranks cause congestion: incast,
// all-to-all, one-way storm, collective operations. Every message of a victim is a sample, so idle and
// congested medians, percentiles and extremes come from raw values of the same kind. The load is fixed, not
// endless: slot 0 of a congestor records its own time, which tells the analysis whether it outlasted the
// victims.
#include "base/error.hpp"
#include "base/random.hpp"
#include "base/words.hpp"
#include "patterns/congestion.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

constexpr std::int64_t latency_bytes = 8;          // as in GPCNeT
constexpr std::int64_t most_messages = 1'000'000;  // of a rank in a phase
struct Settings {
  RankList victims;  // empty: drawn
  std::int64_t share_percent = 0;
  std::int64_t pings = 0, messages = 0;
  const Operation* together = nullptr;  // of all victims; null: they exchange in pairs
  std::vector<Congestion::Kind> congest_by;
  std::int64_t load_bytes = 0, chunk_bytes = 0, fan_in = 0;
  std::uint64_t seed = 1;
};

// The victims and the congestors, each list in the order in which its ranks are paired.
struct Roles {
  RankList victims, congestors;
  std::vector<std::int32_t> position;  // [rank] index in its list
  std::vector<bool> is_victim;         // [rank]
};

std::int64_t victims_wanted(const Settings& settings, Rank ranks) {
  const std::int64_t share = std::int64_t{ranks} * settings.share_percent / 100;
  return std::clamp<std::int64_t>(share / 2 * 2, 2, std::max<std::int64_t>(2, ranks - 2));
}

Roles make_roles(const Settings& settings, Rank ranks) {
  Roles roles;
  roles.position.resize(static_cast<std::size_t>(ranks));
  roles.is_victim.resize(static_cast<std::size_t>(ranks));
  std::vector<Rank> order = all_but(nobody, ranks);
  Random(settings.seed).shuffle(order);
  roles.victims = settings.victims;
  if (roles.victims.empty())
    roles.victims.assign(order.begin(), order.begin() + victims_wanted(settings, ranks));
  for (const Rank rank : roles.victims) roles.is_victim[static_cast<std::size_t>(rank)] = true;
  for (const Rank rank : order)
    if (!roles.is_victim[static_cast<std::size_t>(rank)]) roles.congestors.push_back(rank);
  for (const RankList* list : {&roles.victims, &roles.congestors})
    for (std::size_t i = 0; i < list->size(); ++i)
      roles.position[static_cast<std::size_t>((*list)[i])] = static_cast<std::int32_t>(i);
  return roles;
}

class CongestedPhase final : public Phase {
 public:
  CongestedPhase(Roles roles, Settings settings, std::int64_t bytes, const Congestion& congestion)
      : roles_(std::move(roles)), settings_(std::move(settings)), bytes_(bytes), congestion_(congestion) {}

  void emit(Rank rank, std::vector<Op>& ops) const override {
    const std::int64_t position = roles_.position[static_cast<std::size_t>(rank)];
    const bool is_victim = roles_.is_victim[static_cast<std::size_t>(rank)];
    if (is_victim && settings_.together != nullptr) return add_collectives(ops, position);
    if (is_victim) return add_victim(ops, position);
    congestion_.add(ops, position);
    for (Op& op : ops) op.peer = roles_.congestors[static_cast<std::size_t>(op.peer)];
  }
  // Always 0: the slowest rank is a congestor, which measures nothing, so no rate follows from its time.
  double credited_bytes(Rank) const override { return 0; }
  std::string label() const override { return std::string(congestion_.name()); }

 private:
  // Appends the operations of a victim: first the ping-pongs, timed by the first rank of the pair (slots
  // 0 ...), then exchanges of the message size, timed by both ranks from their own start (slots `pings` ...).
  void add_victim(std::vector<Op>& ops, std::int64_t position) const {
    const std::int64_t half = std::ssize(roles_.victims) / 2;
    if (position >= 2 * half) return;  // odd number of victims: the last has no partner
    const bool first = position < half;
    const Rank peer = roles_.victims[static_cast<std::size_t>(first ? position + half : position - half)];
    After after = from_start;
    for (std::int64_t i = 0; i < settings_.pings; ++i) {
      const auto slot = static_cast<std::int32_t>(i);
      after =
          first ? add_ping(ops, peer, latency_bytes, after, slot) : add_pong(ops, peer, latency_bytes, after);
    }
    for (std::int64_t i = 0; i < settings_.messages; ++i) {
      Op send = send_to(peer, bytes_);
      send.after = after;
      Op receive = receive_from(peer, bytes_);
      receive.after = after;
      receive.since = add(ops, send);
      receive.slot = static_cast<std::int32_t>(settings_.pings + i);
      after = {add(ops, receive), receive.since};
    }
  }

  // Appends operations of all victims, one after another: first those of 8 bytes, then those of the message
  // size. Each victim times each from its own start.
  void add_collectives(std::vector<Op>& ops, std::int64_t position) const {
    Rounds rounds(static_cast<Rank>(position), static_cast<Rank>(std::ssize(roles_.victims)), bytes_, false,
                  ops);
    const bool carries = settings_.together->collective != Collective::barrier;
    for (std::int64_t i = 0; i < settings_.pings + settings_.messages; ++i) {
      const bool is_short = i < settings_.pings;
      const OpIndex first = rounds.follow(!carries ? 0 : is_short ? latency_bytes : bytes_);
      (is_short ? settings_.together->for_short : settings_.together->for_long)(rounds);
      rounds.finish(static_cast<std::int32_t>(i), first);
    }
    for (Op& op : ops) op.peer = roles_.victims[static_cast<std::size_t>(op.peer)];
  }

  Roles roles_;
  Settings settings_;
  std::int64_t bytes_;
  Congestion congestion_;
};

// The operations that victims can measure: those in which each rank waits for others in turn. (Broadcasts
// that follow one another overlap.)
std::vector<std::string_view> measures() {
  std::vector<std::string_view> found{"pairs"};
  for (const Operation& one : operations())
    if (one.collective != Collective::broadcast) found.push_back(one.name);
  return found;
}

// Parses `incast,all-reduce`.
std::vector<Congestion::Kind> parse_kinds(std::string_view text) {
  const std::vector<Congestion::Kind> all = Congestion::kinds();
  std::vector<Congestion::Kind> kinds{{}};  // idle
  std::vector<std::string_view> names;
  for (const Congestion::Kind& kind : all) names.push_back(kind.name);
  for (const std::string_view word : split(text, ',')) {
    const auto at = std::ranges::find(all, word, &Congestion::Kind::name);
    if (at == all.end())
      throw UsageError("pattern congestor: --congest-by does not know " + shown(word) +
                       suggestion(word, names));
    if (std::ranges::find(kinds, word, &Congestion::Kind::name) != kinds.end())
      throw UsageError("pattern congestor: --congest-by names " + std::string(word) + " twice");
    kinds.push_back(*at);
  }
  return kinds;
}

class Congestor final : public PhasedPattern {
 public:
  explicit Congestor(const Parameters& given)
      : settings_{
            .victims = given.ranks("victims"),
            .share_percent = given.integer("share"),
            .pings = given.integer("pings"),
            .messages = given.integer("messages"),
            .together = given.text("measure") == "pairs" ? nullptr : &operation_named(given.text("measure")),
            .congest_by = parse_kinds(given.text("congest-by")),
            .load_bytes = given.integer("load"),
            .chunk_bytes = given.integer("chunk"),
            .fan_in = given.integer("fan-in"),
            .seed = static_cast<std::uint64_t>(given.integer("seed"))} {}

  Extent extent(Rank ranks, std::int64_t bytes) const override {
    std::int64_t buffer_bytes = std::max(bytes, latency_bytes);
    for (std::size_t i = 0; i < settings_.congest_by.size(); ++i)
      buffer_bytes = std::max(buffer_bytes, congestion(i, ranks).buffer_bytes());
    return {.phases = std::ssize(settings_.congest_by),
            .slots = static_cast<std::int32_t>(settings_.pings + settings_.messages),
            .channels = 2,
            .send_bytes = buffer_bytes,
            .receive_bytes = buffer_bytes,
            .iterable = false};
  }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    Roles roles = make_roles(settings_, ranks);
    const Congestion congestors = congestion(static_cast<std::size_t>(index), std::ssize(roles.congestors));
    return std::make_unique<CongestedPhase>(std::move(roles), settings_, bytes, congestors);
  }
  std::vector<std::int64_t> default_sizes() const override {
    if (settings_.together != nullptr && settings_.together->collective == Collective::barrier)
      return no_bytes;
    return {131'072};  // as in GPCNeT
  }
  std::string refuse(Rank ranks) const override {
    if (ranks < 4) return "two victims and two congestors are needed: 4 ranks or more";
    for (std::size_t i = 0; i < settings_.congest_by.size(); ++i)
      if (congestion(i, ranks).messages() > most_messages)
        return "--load in chunks of --chunk bytes makes more than " + std::to_string(most_messages) +
               " messages at one rank (" + std::string(settings_.congest_by[i].name) +
               "); choose a larger --chunk";
    if (settings_.together != nullptr && victims_messages(ranks) > most_messages)
      return "--pings and --messages of all victims together make more than " +
             std::to_string(most_messages) + " messages at one rank; choose fewer";
    std::string absent = absent_rank("victims", settings_.victims, ranks);
    if (!absent.empty() || settings_.victims.empty()) return absent;
    if (settings_.victims.size() < 2) return "--victims names one rank; two are needed to measure";
    if (std::ssize(settings_.victims) > ranks - 2)
      return "--victims leaves fewer than two of " + std::to_string(ranks) + " ranks to congest";
    return {};
  }

 private:
  // Returns about how many messages a victim sends and receives, if all measure together.
  std::int64_t victims_messages(Rank ranks) const {
    const auto victims = static_cast<Rank>(settings_.victims.empty() ? victims_wanted(settings_, ranks)
                                                                     : std::ssize(settings_.victims));
    return settings_.pings * messages_of(settings_.together->for_short, victims) +
           settings_.messages * messages_of(settings_.together->for_long, victims);
  }
  Congestion congestion(std::size_t index, std::int64_t congestors) const {
    return {settings_.congest_by[index], congestors, settings_.load_bytes, settings_.chunk_bytes,
            settings_.fan_in};
  }

  Settings settings_;
};

const std::array parameters = {
    list_parameter("victims", Parameter::Kind::ranks,
                   "The ranks that measure; without it a share of all, drawn at random"),
    integer_parameter("share", "per cent", "20", 99, "Share of the ranks that are victims, at least two"),
    choice_parameter("measure", measures(),
                     "What victims measure: ping-pongs and exchanges in pairs, or a collective operation of "
                     "all victims together"),
    integer_parameter("pings", "messages", "50", 100'000,
                      "Ping-pongs of 8 bytes of each pair of victims, or their operations on 8 bytes"),
    integer_parameter("messages", "messages", "20", 100'000,
                      "Exchanges of the message size of each pair of victims, or their operations on it"),
    list_parameter("congest-by", Parameter::Kind::text,
                   "What congestors do, each a phase: incast, all-to-all, one-way-storm, and the collective "
                   "operations all-reduce, reduce-scatter, all-gather, broadcast, all-to-all-v",
                   "", "incast,all-to-all,one-way-storm"),
    bytes_parameter(
        "load", "64MB",
        "Bytes that each congestor sends in a phase; raise it if congestors finish before the victims", 1,
        1e12),
    bytes_parameter(
        "chunk", "256KiB",
        "Size of a congestor's messages; in a collective operation, size of each congestor's block", 1024,
        1e9),
    integer_parameter("fan-in", "ranks", "64", 100'000,
                      "Congestors that flood one sink in the incast; with more, there are several sinks"),
    seed_parameter("Same seed, same victims and congestors, on every machine"),
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    congestor, {.name = "congestor",
                .summary = "Victims measure latency and rate, alone and while all other ranks congest",
                .answers = "How much do other jobs slow down mine, at the median and at the 99th percentile?",
                .formula = "congested / idle, of the median and the 99th percentile of the victims' samples",
                .source = "After GPCNeT (Chunduri et al. 2019), with ratios from raw values",
                .formula_per = "rank",
                .shape = PatternShape::victims,
                .findings = false,
                .evaluation = Evaluation::at_own_sizes,
                .parameters = parameters,
                .make = made<Congestor>})
