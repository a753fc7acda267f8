#include "measure/pinning.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/error.hpp"
#include "base/fd.hpp"

namespace crosscut::measure {
namespace {

// A cpu_set_t holds 1,024 cores; the kernel returns EINVAL if the set is too small for the machine.
using CoreSet = std::vector<cpu_set_t>;

std::size_t bytes_of(const CoreSet& set) { return set.size() * sizeof(cpu_set_t); }

constexpr std::size_t most_sets = 1024;

}  // namespace

std::vector<int> allowed_cores() {
  for (std::size_t sets = 1; sets <= most_sets; sets *= 4) {
    CoreSet set(sets);
    if (::sched_getaffinity(0, bytes_of(set), set.data()) == 0) {
      std::vector<int> allowed;
      for (std::size_t core = 0; core < sets * CPU_SETSIZE; ++core)
        if (CPU_ISSET_S(core, bytes_of(set), set.data())) allowed.push_back(static_cast<int>(core));
      return allowed;
    }
    if (errno != EINVAL) break;
  }
  throw_errno("read the cores that this process may use");
}

std::vector<int> plan_cores(bool pin, std::span<const int> asked, std::span<const int> allowed, Rank ranks) {
  for (const int core : asked)
    if (std::ranges::find(allowed, core) == allowed.end())
      throw UsageError("`pin` names core " + std::to_string(core) +
                       ", which this process may not use; it may use " + std::to_string(allowed.size()) +
                       " cores from " + std::to_string(std::ranges::min(allowed)) + " to " +
                       std::to_string(std::ranges::max(allowed)) + " (taskset, cgroups or the batch system)");
  const std::span<const int> cores = asked.empty() ? allowed : asked;
  const auto count = static_cast<std::size_t>(ranks);
  if (!pin || (asked.empty() && count > cores.size())) return {};
  std::vector<int> plan(count);
  for (std::size_t i = 0; i < count; ++i) plan[i] = cores[i % cores.size()];
  return plan;
}

void pin_to(int core) {
  const auto number = static_cast<std::size_t>(core);
  CoreSet set(number / CPU_SETSIZE + 1);
  CPU_SET_S(number, bytes_of(set), set.data());
  if (::sched_setaffinity(0, bytes_of(set), set.data()) != 0)
    throw_errno("pin to core " + std::to_string(core));
}

}  // namespace crosscut::measure
