// The routes of a list, phase by phase; a phase may hold any set of routes. `crosscut locate` chooses each
// set by the results of the previous one.
#include "base/error.hpp"
#include "patterns/operations.hpp"
#include "program/registry.hpp"

namespace crosscut::patterns {

using namespace program;

namespace {

using RoutePhases = std::vector<PairList>;  // (source, destination)

// A rank's destinations and sources in one phase, in the order of the list.
struct Ends {
  std::vector<Rank> to, from;
};

class RoutesPhase final : public Phase {
 public:
  RoutesPhase(const PairList& routes, Rank ranks, std::int64_t bytes)
      : ends_(static_cast<std::size_t>(ranks)), bytes_(bytes), count_(routes.size()) {
    for (const auto& [source, destination] : routes) {
      if (source >= ranks || destination >= ranks) continue;  // refuse() reports these
      ends_[static_cast<std::size_t>(source)].to.push_back(destination);
      ends_[static_cast<std::size_t>(destination)].from.push_back(source);
    }
  }

  void emit(Rank rank, std::vector<Op>& ops) const override {
    const Ends& ends = ends_[static_cast<std::size_t>(rank)];
    std::int32_t slot = 0;
    for (const Rank source : ends.from) {
      Op receive = receive_from(source, bytes_, slot * bytes_);
      receive.slot = slot++;
      // Every message is sent from the start of the sender's buffer.
      receive.origin_offset = 0;
      add(ops, receive);
    }
    for (const Rank destination : ends.to) add(ops, send_to(destination, bytes_));
  }
  double credited_bytes(Rank rank) const override {
    const Ends& ends = ends_[static_cast<std::size_t>(rank)];
    return static_cast<double>(bytes_) * static_cast<double>(std::max(ends.to.size(), ends.from.size()));
  }
  std::string label() const override { return counted(static_cast<std::int64_t>(count_), "route"); }

 private:
  std::vector<Ends> ends_;
  std::int64_t bytes_;
  std::size_t count_;
};

class Routes final : public PhasedPattern {
 public:
  explicit Routes(RoutePhases phases) : phases_(std::move(phases)) {}

  Extent extent(Rank ranks, std::int64_t bytes) const override {
    std::int32_t slots = 1;
    std::vector<std::int32_t> received(static_cast<std::size_t>(ranks));
    for (const PairList& routes : phases_) {
      std::ranges::fill(received, 0);
      for (const auto& [source, destination] : routes)
        if (source < ranks && destination < ranks)
          slots = std::max(slots, ++received[static_cast<std::size_t>(destination)]);
    }
    return {.phases = phases_.empty() ? 2 : static_cast<std::int64_t>(phases_.size()),
            .slots = slots,
            .send_bytes = bytes,
            .receive_bytes = slots * bytes};
  }
  std::unique_ptr<Phase> phase(Rank ranks, std::int64_t bytes, std::int64_t index) const override {
    if (phases_.empty()) return std::make_unique<RoutesPhase>(neighbours(ranks, index), ranks, bytes);
    return std::make_unique<RoutesPhase>(phases_[static_cast<std::size_t>(index)], ranks, bytes);
  }
  std::string refuse(Rank ranks) const override {
    std::vector<Rank> named;
    for (const PairList& routes : phases_)
      for (const auto& [source, destination] : routes) named.insert(named.end(), {source, destination});
    return absent_rank("routes", named, ranks);
  }

 private:
  // Returns the routes used without a list: every rank to the next in phase 0, to the previous in phase 1.
  static PairList neighbours(Rank ranks, std::int64_t index) {
    PairList routes;
    for (Rank rank = 0; rank < ranks; ++rank)
      routes.emplace_back(rank, wrapped(rank + (index == 0 ? 1 : -1), ranks));
    return routes;
  }

  RoutePhases phases_;
};

// Parses phases separated by semicolons; white space and comments are as in every list of pairs.
RoutePhases parse_phases(std::string_view text) {
  RoutePhases phases;
  while (!text.empty()) {
    const auto end = std::min(text.find(';'), text.size());
    phases.push_back(parse_pairs(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return phases;
}

std::unique_ptr<Pattern> make(const Parameters& parameters) {
  try {
    return std::make_unique<Routes>(parse_phases(parameters.text("routes")));
  } catch (const UsageError& error) {
    throw UsageError(std::string("pattern routes: --routes: ") + error.what());
  }
}

const std::array parameters = {
    list_parameter(
        "routes", Parameter::Kind::text,
        "Who sends to whom, such as 0-3,1-2 (0 to 3, 1 to 2), with a semicolon between phases, or @FILE; "
        "by default every rank to the next, then to the previous"),
};

}  // namespace
}  // namespace crosscut::patterns

CROSSCUT_DEFINE_PATTERN(routes, {.name = "routes",
                                 .summary = "The routes of a list, each in one direction, phase by phase",
                                 .answers = "How much do the routes of each set carry together?",
                                 .formula = "most messages of a rank, m / t_slowest",
                                 .source = "crosscut: used by `crosscut locate`",
                                 .formula_per = "rank",
                                 .latency = true,
                                 .parameters = parameters,
                                 .make = make})
