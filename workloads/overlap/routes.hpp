// Who sends to whom, and who computes meanwhile.
#pragma once

#include <optional>

#include "overlap/settings.hpp"

namespace crosscut::overlap {

struct Route {
  std::optional<int> from{}, to{};
  int origin = 0;         // who made what comes from `from`
  bool forwards = false;  // what it sends is what it received
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
