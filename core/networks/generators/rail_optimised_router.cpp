#include "networks/generators/rail_optimised.hpp"

namespace crosscut::networks::generators {
namespace {

// A flow that may leave by any adapter arrives by the same: within a pod it then needs no spine.
class RailRouter final : public Router {
 public:
  RailRouter(const RailNumbers& numbers, Spread spread, std::uint64_t seed)
      : numbers_(numbers), spread_(spread), seed_(seed) {}

  void route(const RouteRequest& request, std::vector<Lane>& lanes) const override {
    Chooser chooser(request, spread_, seed_);
    const auto rails = static_cast<std::uint32_t>(numbers_.rails);
    std::int32_t leaves_by = request.source_adapter, enters_by = request.destination_adapter;
    if (leaves_by < 0 && enters_by < 0) leaves_by = static_cast<std::int32_t>(chooser.choose(rails));
    if (leaves_by < 0) leaves_by = enters_by;
    if (enters_by < 0) enters_by = leaves_by;
    const std::int32_t from = switch_of(request.source, leaves_by),
                       to = switch_of(request.destination, enters_by);
    lanes.push_back(lane_up(numbers_.host_edge(request.source, leaves_by)));
    if (from != to) {
      const auto spines = static_cast<std::uint32_t>(numbers_.spines);
      const auto uplinks = static_cast<std::uint32_t>(numbers_.uplinks);
      const std::uint32_t spine = chooser.choose(spines, rails);
      add_spine(from, spine + spines * chooser.choose(uplinks, rails * spines), lane_up, lanes);
      add_spine(to, spine + spines * chooser.choose(uplinks, rails * spines), lane_down, lanes);
    }
    lanes.push_back(lane_down(numbers_.host_edge(request.destination, enters_by)));
  }

 private:
  std::int32_t switch_of(Vertex host, std::int32_t rail) const {
    return host / numbers_.hosts_per_pod * numbers_.rails + rail;
  }
  void add_spine(std::int32_t rail_switch, std::uint32_t port, Lane (*direction)(std::int64_t),
                 std::vector<Lane>& lanes) const {
    lanes.push_back(direction(numbers_.spine_edge(rail_switch, static_cast<std::int32_t>(port))));
  }

  RailNumbers numbers_;
  Spread spread_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Router> make_rail_router(const RailNumbers& numbers, Spread spread, std::uint64_t seed) {
  return std::make_unique<RailRouter>(numbers, spread, seed);
}

}  // namespace crosscut::networks::generators
