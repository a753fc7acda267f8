#include "networks/generators/dragonfly.hpp"

namespace crosscut::networks::generators {
namespace {

// Minimal routing (Kim et al. 2008, section 4.1): at most one link within the source's group, one global
// link, one link within the destination's group.
class DragonflyRouter final : public Router {
 public:
  DragonflyRouter(const DragonflyNumbers& numbers, Spread spread, std::uint64_t seed)
      : numbers_(numbers), spread_(spread), seed_(seed) {}

  void route(const RouteRequest& request, std::vector<Lane>& lanes) const override {
    const Place from = place(request.source), to = place(request.destination);
    lanes.push_back(lane_up(request.source));
    if (from.group == to.group) {
      add_local(from.group, from.router, to.router, lanes);
    } else {
      const std::int32_t copy = choose_copy(request, from, to);
      const std::int32_t leaves_by = numbers_.router_to(from.group, to.group, copy);
      const std::int32_t enters_by = numbers_.router_to(to.group, from.group, copy);
      add_local(from.group, from.router, leaves_by, lanes);
      const auto [low, high] = std::minmax(from.group, to.group);
      const std::int64_t edge = numbers_.global_edge(low, high, copy);
      lanes.push_back(from.group == low ? lane_up(edge) : lane_down(edge));
      add_local(to.group, enters_by, to.router, lanes);
    }
    lanes.push_back(lane_down(request.destination));
  }

 private:
  struct Place {
    std::int32_t group, router;
  };
  Place place(Vertex host) const {
    const std::int32_t router = host / numbers_.p;
    return {router / numbers_.a, router % numbers_.a};
  }

  void add_local(std::int32_t group, std::int32_t i, std::int32_t j, std::vector<Lane>& lanes) const {
    if (i == j) return;
    const std::int64_t edge = numbers_.local_edge(group, std::min(i, j), std::max(i, j));
    lanes.push_back(i < j ? lane_up(edge) : lane_down(edge));
  }

  // Of the global links that two groups share, one with the fewest local links before and after.
  std::int32_t choose_copy(const RouteRequest& request, Place from, Place to) const {
    const std::int32_t copies = numbers_.copies();
    if (copies == 1) return 0;
    const auto local_links = [&](std::int32_t copy) {
      return (numbers_.router_to(from.group, to.group, copy) != from.router ? 1 : 0) +
             (numbers_.router_to(to.group, from.group, copy) != to.router ? 1 : 0);
    };
    int fewest = 2;
    std::uint32_t equal = 0;
    for (std::int32_t copy = 0; copy < copies; ++copy) {
      const int links = local_links(copy);
      if (links < fewest) equal = 0;
      fewest = std::min(fewest, links);
      if (links == fewest) ++equal;
    }
    std::uint32_t left = Chooser(request, spread_, seed_).choose(equal);
    for (std::int32_t copy = 0; copy < copies; ++copy)
      if (local_links(copy) == fewest && left-- == 0) return copy;
    return 0;  // not reached: `equal` of them have the fewest
  }

  DragonflyNumbers numbers_;
  Spread spread_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Router> make_dragonfly_router(const DragonflyNumbers& numbers, Spread spread,
                                              std::uint64_t seed) {
  return std::make_unique<DragonflyRouter>(numbers, spread, seed);
}

}  // namespace crosscut::networks::generators
