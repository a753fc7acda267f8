#include <array>
#include <utility>

#include "networks/generators/hyperx.hpp"

namespace crosscut::networks::generators {
namespace {

constexpr std::size_t dimensions_max = 24;  // as many as numbers() reads

// One step in each dimension in which source and destination differ.
class HyperxRouter final : public Router {
 public:
  HyperxRouter(HyperxNumbers numbers, const HyperxShape& shape, Spread spread, std::uint64_t seed)
      : numbers_(std::move(numbers)),
        hosts_per_switch_(shape.hosts_per_switch),
        any_order_(shape.any_order),
        spread_(spread),
        seed_(seed) {}

  void route(const RouteRequest& request, std::vector<Lane>& lanes) const override {
    lanes.push_back(lane_up(request.source));
    std::int32_t at = request.source / hosts_per_switch_;
    const std::int32_t destination = request.destination / hosts_per_switch_;
    std::array<std::uint8_t, dimensions_max> order{};
    std::size_t steps = 0;
    for (std::size_t d = 0; d < numbers_.dimensions.size(); ++d)
      if (coordinate(at, d) != coordinate(destination, d)) order[steps++] = static_cast<std::uint8_t>(d);
    if (any_order_) shuffle(std::span(order).first(steps), request);
    for (const std::uint8_t d : std::span(order).first(steps)) {
      const HyperxDimension& dimension = numbers_.dimensions[d];
      const std::int32_t from = coordinate(at, d), to = coordinate(destination, d);
      const std::int64_t edge = dimension.edge(at, std::min(from, to), std::max(from, to));
      lanes.push_back(from < to ? lane_up(edge) : lane_down(edge));
      at += (to - from) * dimension.stride;
    }
    lanes.push_back(lane_down(request.destination));
  }

 private:
  std::int32_t coordinate(std::int32_t at, std::size_t d) const {
    return at / numbers_.dimensions[d].stride % numbers_.dimensions[d].size;
  }

  void shuffle(std::span<std::uint8_t> order, const RouteRequest& request) const {
    Chooser chooser(request, spread_, seed_);
    std::uint32_t chosen_before = 1;
    for (std::size_t left = order.size(); left > 1; --left) {
      const auto ways = static_cast<std::uint32_t>(left);
      std::swap(order[left - 1], order[chooser.choose(ways, chosen_before)]);
      // Beyond some dimensions the number of orders exceeds that of destinations.
      chosen_before = chosen_before < (1U << 26) ? chosen_before * ways : chosen_before;
    }
  }

  HyperxNumbers numbers_;
  std::int32_t hosts_per_switch_;
  bool any_order_;
  Spread spread_;
  std::uint64_t seed_;
};

}  // namespace

HyperxNumbers::HyperxNumbers(const HyperxShape& shape) {
  switches = 1;
  for (const std::int32_t size : shape.sizes) {
    dimensions.push_back({size, switches, 0});
    switches *= size;
  }
  std::int64_t edge = static_cast<std::int64_t>(switches) * shape.hosts_per_switch;
  for (HyperxDimension& dimension : dimensions) {
    dimension.first_edge = edge;
    edge += static_cast<std::int64_t>(switches) * (dimension.size - 1) / 2;
  }
}

std::string HyperxNumbers::name(std::int32_t at) const {
  std::string text;
  for (const HyperxDimension& dimension : dimensions)
    text += (text.empty() ? "switch" : ".") + std::to_string(at / dimension.stride % dimension.size);
  return text;
}

std::unique_ptr<Router> make_hyperx_router(const HyperxNumbers& numbers, const HyperxShape& shape,
                                           Spread spread, std::uint64_t seed) {
  return std::make_unique<HyperxRouter>(numbers, shape, spread, seed);
}

}  // namespace crosscut::networks::generators
