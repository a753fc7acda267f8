// Ping-pongs of mixed sizes while all other ranks do the same. In each round every rank has a partner; first
// one of the two sends a ping of its own size and times the answer, then the other. Every half round trip is
// kept, for a scatter plot.
//
// Sizes are drawn from a list, each equally likely; or from a range, in which every doubling is equally
// likely and so is every size within a doubling. Integer arithmetic only: with logarithms, two machines might
// disagree by a byte.
#include <bit>

#include "base/error.hpp"
#include "base/words.hpp"
#include "patterns/matching.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

// Names of Matching::Kind.
constexpr std::array<std::string_view, 4> partner_words{"random", "within", "across", "pairs"};

struct Settings {
  Matching::Kind partners = Matching::Kind::random;
  std::vector<std::vector<Rank>> groups;  // for `given`: the pairs
  std::int64_t messages = 1, minimum = 0;
  std::vector<std::int64_t> sizes;  // empty: drawn from minimum to the message size
  std::uint64_t seed = 1;
};

std::vector<Rank> all_of(const std::vector<std::vector<Rank>>& groups) {
  std::vector<Rank> all;
  for (const std::vector<Rank>& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

std::int64_t random_size(const Settings& settings, std::int64_t largest, std::int64_t round, Rank rank) {
  constexpr std::uint64_t apart_from_partners = 0x5eed51235ull;
  Random random = random_stream(settings.seed ^ apart_from_partners, static_cast<std::uint64_t>(round),
                                static_cast<std::uint64_t>(rank));
  if (!settings.sizes.empty())
    return settings.sizes[static_cast<std::size_t>(random.below(settings.sizes.size()))];
  const auto low = static_cast<std::uint64_t>(std::min(settings.minimum, largest));
  const auto high = static_cast<std::uint64_t>(largest);
  const auto low_bits = static_cast<std::uint64_t>(std::bit_width(low));
  const std::uint64_t bits =
      low_bits + random.below(static_cast<std::uint64_t>(std::bit_width(high)) - low_bits + 1);
  const std::uint64_t first = bits == 0 ? 0 : std::max(low, std::uint64_t{1} << (bits - 1));
  const std::uint64_t last = std::min(high, (std::uint64_t{1} << bits) - 1);
  return static_cast<std::int64_t>(first + random.below(last - first + 1));
}

class LoadedPhase final : public Phase {
 public:
  LoadedPhase(Rank ranks, std::int64_t bytes, Settings settings)
      : bytes_(bytes),
        settings_(std::move(settings)),
        matching_(settings_.partners, settings_.groups, ranks, settings_.seed) {}

  void emit(Rank rank, std::vector<Op>& ops) const override {
    After after = from_start;
    for (std::int64_t round = 0; round < settings_.messages; ++round) {
      const Rank peer = matching_.partner(rank, round);
      if (peer == nobody) continue;
      const std::int64_t own = random_size(settings_, bytes_, round, rank);
      const std::int64_t theirs = random_size(settings_, bytes_, round, peer);
      const bool first = (rank < peer) == (round % 2 == 0);
      if (!first) after = add_pong(ops, peer, theirs, after);
      after = add_ping(ops, peer, own, after, static_cast<std::int32_t>(round));
      if (first) after = add_pong(ops, peer, theirs, after);
    }
  }
  double credited_bytes(Rank rank) const override {
    double bytes = 0;
    for (std::int64_t round = 0; round < settings_.messages; ++round)
      if (matching_.partner(rank, round) != nobody)
        bytes += 2.0 * static_cast<double>(random_size(settings_, bytes_, round, rank));
    return bytes;
  }

 private:
  std::int64_t bytes_;
  Settings settings_;
  Matching matching_;
};

class LoadedPingpong final : public Pattern {
 public:
  explicit LoadedPingpong(Settings settings) : settings_(std::move(settings)) {}

  Extent extent(Rank, std::int64_t bytes) const override {
    for (const std::int64_t size : settings_.sizes)
      if (size > bytes)
        throw UsageError("pattern loaded-pingpong: --mix names " + std::to_string(size) +
                         " bytes, more than the message size, " + std::to_string(bytes));
    return {.phases = 1,
            .slots = static_cast<std::int32_t>(settings_.messages),
            .channels = 2,
            .send_bytes = bytes,
            .receive_bytes = bytes,
            .iterable = false};
  }
  std::vector<Rank> peers(Rank self, Rank ranks) const override {
    const Matching matching(settings_.partners, settings_.groups, ranks, settings_.seed);
    std::vector<Rank> peers;
    for (std::int64_t round = 0; round < settings_.messages; ++round)
      if (const Rank peer = matching.partner(self, round); peer != nobody) peers.push_back(peer);
    sort_once(peers);
    return peers;
  }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t) const override {
    return std::make_unique<LoadedPhase>(ranks, bytes, settings_);
  }
  std::vector<std::int64_t> default_sizes() const override {
    if (settings_.sizes.empty()) return {65'536};
    return {*std::max_element(settings_.sizes.begin(), settings_.sizes.end())};
  }
  std::string refuse(Rank ranks) const override {
    const bool given = settings_.partners == Matching::Kind::given;
    return settings_.partners == Matching::Kind::random
               ? std::string()
               : absent_rank(given ? "pairs" : "groups", all_of(settings_.groups), ranks);
  }

 private:
  Settings settings_;
};

[[noreturn]] void wrong(const std::string& what) { throw UsageError("pattern loaded-pingpong: " + what); }

std::vector<std::vector<Rank>> parse_groups(std::string_view text) {
  std::vector<std::vector<Rank>> groups;
  for (const auto group : split(text, '/')) {
    try {
      groups.push_back(parse_ranks(group));
    } catch (const UsageError& error) {
      wrong(std::string("--groups: ") + error.what() + "; groups are written 0-3/4-7");
    }
  }
  return groups;
}

void check_disjoint(const std::vector<std::vector<Rank>>& groups, const std::string& parameter) {
  std::vector<Rank> all = all_of(groups);
  std::sort(all.begin(), all.end());
  const auto twice = std::adjacent_find(all.begin(), all.end());
  if (twice != all.end()) wrong(parameter + " names rank " + std::to_string(*twice) + " twice");
}

std::vector<std::vector<Rank>> chosen_groups(const Parameters& parameters, Matching::Kind kind) {
  std::vector<std::vector<Rank>> groups;
  if (kind == Matching::Kind::random) return groups;
  if (kind == Matching::Kind::given) {
    for (const auto& [a, b] : parameters.pairs("pairs")) groups.push_back({a, b});
    if (groups.empty()) wrong("--partners pairs needs --pairs, as 0-4,1-5 or @FILE");
    check_disjoint(groups, "--pairs");
    return groups;
  }
  if (parameters.text("groups").empty())
    wrong("--partners " + parameters.text("partners") + " needs --groups, as 0-3/4-7");
  groups = parse_groups(parameters.text("groups"));
  check_disjoint(groups, "--groups");
  if (kind == Matching::Kind::across && groups.size() < 2)
    wrong("--partners across needs two groups or more");
  return groups;
}

std::unique_ptr<Pattern> make(const Parameters& parameters) {
  Settings settings;
  const auto partners = std::ranges::find(partner_words, parameters.text("partners"));
  settings.partners = static_cast<Matching::Kind>(partners - partner_words.begin());
  settings.groups = chosen_groups(parameters, settings.partners);
  settings.messages = parameters.integer("messages");
  settings.minimum = parameters.integer("minimum");
  if (!parameters.text("mix").empty()) settings.sizes = parse_sizes(parameters.text("mix"));
  settings.seed = static_cast<std::uint64_t>(parameters.integer("seed"));
  return std::make_unique<LoadedPingpong>(std::move(settings));
}

const std::array parameters = {
    choice_parameter("partners", {partner_words.begin(), partner_words.end()},
                     "random: any rank; within or across: a rank of the same or of another group; pairs: the "
                     "fixed pairs of --pairs"),
    list_parameter("groups", Parameter::Kind::text,
                   "The groups for --partners within or across, such as 0-3/4-7, or @FILE"),
    list_parameter("pairs", Parameter::Kind::pairs,
                   "The pairs for --partners pairs, such as 0-4,1-5 or 0..3-4..7, or @FILE"),
    integer_parameter("messages", "messages", "250", 100'000,
                      "Ping-pongs that each rank times; 250 are Salmon's 9,000 messages over 36 processes"),
    bytes_parameter("minimum", "1",
                    "The smallest message; the largest is the message size, and every doubling between them "
                    "is equally likely"),
    list_parameter(
        "mix", Parameter::Kind::text,
        "Draw from these sizes with equal probability instead of from a range, such as 64,1KB,64KB", "bytes"),
    seed_parameter("Same seed, same partners and sizes, on every machine"),
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(
    loaded_pingpong,
    {.name = "loaded-pingpong",
     .summary = "Ping-pongs of mixed sizes while all others do the same; every half round trip is kept",
     .answers = "How long is a message delayed when all ranks communicate, and how long is the tail?",
     .formula = "2 sum of a rank's sizes / t_slowest",
     .source = "Salmon, Stein, Sterling 1998 (36 processes, 9,000 messages)",
     .formula_per = "rank",
     .shape = PatternShape::loaded,
     .findings = false,
     .evaluation = Evaluation::at_own_sizes,
     .parameters = parameters,
     .make = make})
