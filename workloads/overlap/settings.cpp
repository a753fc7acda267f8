#include "overlap/settings.hpp"

#include "npb/common/problem_class.hpp"

namespace crosscut::overlap {

namespace {

struct Size {
  std::int64_t largest_bytes, exchanges;
};

constexpr npb::PerClass<Size> sizes{
    {{{256 << 10, 8}, {1 << 20, 10}, {4 << 20, 20}, {16 << 20, 20}, {64 << 20, 20}}}};
constexpr std::int64_t smallest_bytes = 1 << 10;
constexpr std::int64_t step = 16;

}  // namespace

void set_class(Settings& settings, npb::ProblemClass problem_class) {
  const Size& size = sizes[problem_class];
  settings.sizes.clear();
  for (std::int64_t bytes = smallest_bytes; bytes < size.largest_bytes; bytes *= step)
    settings.sizes.push_back(bytes);
  settings.sizes.push_back(size.largest_bytes);
  settings.exchanges = size.exchanges;
}

void declare(Settings& settings, program::Arguments& arguments) {
  arguments.choice(
      "--pattern", pattern_words, settings.pattern,
      "to the next rank (ring, the default); with one other (pairs); from the first to the last "
      "through all between, which compute (forward); between first and last, while the others compute "
      "and their nodes may forward (bystander)");
  arguments.sizes("--sizes", settings.sizes, {8, std::int64_t{1} << 30}, "of messages: 1KiB,64KiB");
  arguments.whole("--exchanges", "N", settings.exchanges, {2, 1000000}, "of each size, three times over");
  arguments.number("--work", "X", settings.work, 1000,
                   "computing for each exchange, in times that the exchange alone takes (1)");
  arguments.whole("--slice", "MICROSECONDS", settings.slice_microseconds, {1, 1000000},
                  "of computing between two calls of MPI_Testall, where they are made (20)");
}

std::string unsuitable(const Settings& settings, int ranks) {
  for (const std::int64_t bytes : settings.sizes)
    if (bytes % 8 != 0) return "--sizes: " + std::to_string(bytes) + " B is no multiple of 8 B";
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

}  // namespace crosscut::overlap
