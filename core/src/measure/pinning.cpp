#include "measure/pinning.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/fd.hpp"

namespace crosscut::measure {
namespace {

// cpu_set_t ends at 1,024 cores; the kernel returns EINVAL if the set is too small for the machine.
class CoreSet {
 public:
  explicit CoreSet(int cores) : cores_(cores), set_(CPU_ALLOC(static_cast<std::size_t>(cores)), &free_set) {
    if (!set_) throw RunError("out of memory");
    CPU_ZERO_S(bytes(), set_.get());
  }
  std::size_t bytes() const { return CPU_ALLOC_SIZE(static_cast<std::size_t>(cores_)); }
  cpu_set_t* get() { return set_.get(); }
  bool has(int core) const { return CPU_ISSET_S(static_cast<std::size_t>(core), bytes(), set_.get()); }
  void add(int core) { CPU_SET_S(static_cast<std::size_t>(core), bytes(), set_.get()); }
  int cores() const { return cores_; }

 private:
  static void free_set(cpu_set_t* set) { CPU_FREE(set); }
  int cores_;
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set_;
};

constexpr int cores_max = 1 << 20;

}  // namespace

std::vector<int> allowed_cores() {
  for (int cores = 1024; cores <= cores_max; cores *= 4) {
    CoreSet set(cores);
    if (::sched_getaffinity(0, set.bytes(), set.get()) == 0) {
      std::vector<int> allowed;
      for (int core = 0; core < set.cores(); ++core)
        if (set.has(core)) allowed.push_back(core);
      return allowed;
    }
    if (errno != EINVAL) break;
  }
  throw_errno("asking which cores this process may use");
}

std::vector<int> plan_cores(bool pin, std::span<const int> asked, std::span<const int> allowed, Rank ranks) {
  for (const int core : asked)
    if (!std::ranges::binary_search(allowed, core))
      throw UsageError("`pin` names core " + std::to_string(core) +
                       ", which this process may not use; allowed are " + std::to_string(allowed.size()) +
                       " cores from " + std::to_string(allowed.front()) + " to " +
                       std::to_string(allowed.back()) + " (taskset, cgroups or the batch system)");
  const std::span<const int> cores = asked.empty() ? allowed : asked;
  const auto count = static_cast<std::size_t>(ranks);
  if (!pin || (asked.empty() && count > cores.size())) return {};
  std::vector<int> plan(count);
  for (std::size_t i = 0; i < count; ++i) plan[i] = cores[i % cores.size()];
  return plan;
}

void pin_to(int core) {
  CoreSet set(std::max(1024, core + 1));
  set.add(core);
  if (::sched_setaffinity(0, set.bytes(), set.get()) != 0)
    throw_errno("pinning to core " + std::to_string(core));
}

}  // namespace crosscut::measure
