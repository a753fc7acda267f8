// Settings from the command line, and the roles of ranks that follow: their partners, and who computes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npb/common/problem_class.hpp"
#include "program/arguments.hpp"

namespace crosscut::overlap {

// Determines each rank's partners.
enum class Pattern : std::uint8_t { ring, pairs, forward, bystander };
inline constexpr std::array<std::string_view, 4> pattern_words{"ring", "pairs", "forward", "bystander"};

struct Settings {
  Pattern pattern = Pattern::ring;
  std::vector<std::int64_t> sizes;       // bytes, multiples of 8
  std::int64_t exchanges = 0;            // per size
  double work = 1;                       // computing per exchange, as a multiple of the exchange's own time
  std::int64_t slice_microseconds = 20;  // computing between two calls to MPI
};

inline void set_class(Settings& settings, npb::ProblemClass problem_class) {
  struct Size {
    std::int64_t largest_bytes, exchanges;
  };
  constexpr npb::PerClass<Size> sizes{
      {{{256 << 10, 8}, {1 << 20, 10}, {4 << 20, 20}, {16 << 20, 20}, {64 << 20, 20}}}};
  constexpr std::int64_t smallest_bytes = 1 << 10, step = 16;
  const Size& size = sizes[problem_class];
  settings.sizes.clear();
  for (std::int64_t bytes = smallest_bytes; bytes < size.largest_bytes; bytes *= step)
    settings.sizes.push_back(bytes);
  settings.sizes.push_back(size.largest_bytes);
  settings.exchanges = size.exchanges;
}

inline void declare(Settings& settings, program::Arguments& arguments) {
  arguments.choice(
      "--pattern", pattern_words, settings.pattern,
      "messages go to the next rank (ring, the default); to and from one other rank (pairs); from the first "
      "to the last through all between, which compute (forward); between the first and the last, while the "
      "others compute and their nodes may forward (bystander)");
  arguments.sizes("--sizes", settings.sizes, {8, std::int64_t{1} << 30}, "of messages, such as 1KiB,64KiB");
  arguments.whole("--exchanges", "N", settings.exchanges, {2, 1000000},
                  "of each size, in each of three series");
  arguments.number("--work", "X", settings.work, 1000,
                   "computing per exchange, as a multiple of the exchange's own time (1)");
  arguments.whole("--slice", "MICROSECONDS", settings.slice_microseconds, {1, 1000000},
                  "of computing between two calls of MPI_Testall (20)");
}

// Returns why this number of ranks cannot run these settings; empty if it can.
inline std::string unsuitable(const Settings& settings, int ranks) {
  for (const std::int64_t bytes : settings.sizes)
    if (bytes % 8 != 0) return "--sizes: " + std::to_string(bytes) + " B is not a multiple of 8 B";
  const std::string name(pattern_words[static_cast<std::size_t>(settings.pattern)]);
  const bool has_middle = settings.pattern == Pattern::forward || settings.pattern == Pattern::bystander;
  const int least = has_middle ? 3 : 2;
  if (ranks < least)
    return std::to_string(ranks) + (ranks == 1 ? " rank: " : " ranks: ") + name + " takes " +
           std::to_string(least) + " or more";
  if (settings.pattern == Pattern::pairs && ranks % 2 != 0)
    return std::to_string(ranks) + " ranks: pairs takes an even number";
  return "";
}

struct Route {
  std::optional<int> from{}, to{};
  int origin = 0;         // rank that made the messages from `from`
  bool forwards = false;  // sends what it received
  bool computes = true;

  bool communicates() const { return from || to; }
};

inline Route route_of(Pattern pattern, int rank, int ranks) {
  const int last = ranks - 1;
  const bool is_end = rank == 0 || rank == last;
  switch (pattern) {
    case Pattern::ring: {
      const int before = (rank + last) % ranks;
      return {.from = before, .to = (rank + 1) % ranks, .origin = before};
    }
    case Pattern::pairs:
      return {.from = rank ^ 1, .to = rank ^ 1, .origin = rank ^ 1};
    case Pattern::forward: {
      Route route{.forwards = !is_end, .computes = !is_end};
      if (rank > 0) route.from = rank - 1;
      if (rank < last) route.to = rank + 1;
      return route;
    }
    case Pattern::bystander:
      if (!is_end) return {};
      return {.from = last - rank, .to = last - rank, .origin = last - rank, .computes = false};
  }
  return {};
}

}  // namespace crosscut::overlap
