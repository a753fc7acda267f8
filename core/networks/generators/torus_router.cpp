#include "networks/generators/torus_router.hpp"

#include <utility>

namespace crosscut::networks::generators {
namespace {

class TorusRouter final : public Router {
 public:
  TorusRouter(TorusNumbers numbers, Spread spread, std::uint64_t seed)
      : numbers_(std::move(numbers)), spread_(spread), seed_(seed) {}

  // Adapters asked for are left aside: where hosts are the vertices, the destination says which way to leave.
  void route(const RouteRequest& request, std::vector<Lane>& lanes) const override {
    Chooser chooser(request, spread_, seed_);
    const std::int32_t on_switch = std::max(1, numbers_.hosts_per_switch);
    std::int32_t at = request.source / on_switch;
    const std::int32_t destination = request.destination / on_switch;
    if (numbers_.hosts_per_switch > 0) lanes.push_back(lane_up(request.source));
    for (const TorusDimension& dimension : numbers_.dimensions)
      walk(dimension, destination, chooser, at, lanes);
    if (numbers_.hosts_per_switch > 0) lanes.push_back(lane_down(request.destination));
  }

 private:
  // Both ways round are as long where the distance is half of an even size: then the flow chooses.
  static void walk(const TorusDimension& dimension, std::int32_t destination, Chooser& chooser,
                   std::int32_t& at, std::vector<Lane>& lanes) {
    const std::int32_t from = at / dimension.stride % dimension.size;
    const std::int32_t to = destination / dimension.stride % dimension.size;
    std::int32_t up = to - from;  // steps; negative: down
    if (dimension.wraps) {
      const std::int32_t round = up < 0 ? up + dimension.size : up;
      up = round;
      if (!dimension.one_way &&
          (2 * round > dimension.size || (2 * round == dimension.size && chooser.choose(2) == 1)))
        up = round - dimension.size;
    }
    for (std::int32_t coordinate = from; up != 0; up += up > 0 ? -1 : 1) {
      const std::int32_t ahead = up > 0 ? coordinate + 1 : coordinate - 1;
      const std::int32_t next = ahead == dimension.size ? 0 : ahead < 0 ? dimension.size - 1 : ahead;
      const std::int32_t there = at + (next - coordinate) * dimension.stride;
      lanes.push_back(up > 0 ? lane_up(dimension.edge(at)) : lane_down(dimension.edge(there)));
      at = there;
      coordinate = next;
    }
  }

  TorusNumbers numbers_;
  Spread spread_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Router> make_torus_router(const TorusNumbers& numbers, Spread spread, std::uint64_t seed) {
  return std::make_unique<TorusRouter>(numbers, spread, seed);
}

}  // namespace crosscut::networks::generators
