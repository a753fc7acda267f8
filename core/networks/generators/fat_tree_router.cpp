#include "networks/generators/fat_tree_router.hpp"

namespace crosscut::networks::generators {
namespace {

class TreeRouter final : public Router {
 public:
  TreeRouter(const TreeShape& shape, Spread spread, std::uint64_t seed) : spread_(spread), seed_(seed) {
    const TreeNumbers numbers(shape);
    for (std::size_t level = 0; level < shape.levels.size(); ++level) {
      const TreeLevel& links = shape.levels[level];
      levels_.push_back({static_cast<std::uint32_t>(numbers.below[level]),
                         static_cast<std::uint32_t>(numbers.width[level]),
                         static_cast<std::uint32_t>(links.up),
                         static_cast<std::uint32_t>(links.up * links.parallel), numbers.first_edge[level]});
    }
  }

  // Zahavi 2010, section 4: the port up from a switch of level l is floor(d / (w_1 .. w_l)) mod (w_{l+1}
  // p_{l+1}); of the parallel cables down to d the same one is taken, whoever sends.
  void route(const RouteRequest& request, std::vector<Lane>& lanes) const override {
    const auto source = static_cast<std::uint32_t>(request.source);
    const auto destination = static_cast<std::uint32_t>(request.destination);
    Chooser chooser(request, spread_, seed_);
    std::size_t top = 1;  // the lowest level with both hosts below one block
    while (top < levels_.size() && source / levels_[top].below != destination / levels_[top].below) ++top;
    std::uint32_t index = 0;  // of the switch where the flow is, within its block
    for (std::size_t level = 0; level < top; ++level) {
      const Level& at = levels_[level];
      const bool asked = level == 0 && request.source_adapter >= 0;
      const std::uint32_t port =
          asked ? static_cast<std::uint32_t>(request.source_adapter) : chooser.choose(at.ports, at.width);
      lanes.push_back(lane_up(at.edge(source, index, port)));
      index += at.width * (port % at.parents);
    }
    for (std::size_t level = top; level-- > 0;) {
      const Level& at = levels_[level];
      const std::uint32_t parent = index / at.width;
      index %= at.width;
      const bool asked = level == 0 && request.destination_adapter >= 0;
      const std::uint32_t cable =
          asked ? static_cast<std::uint32_t>(request.destination_adapter) : down_cable(at, chooser);
      lanes.push_back(lane_down(at.edge(destination, index, parent + at.parents * cable)));
    }
  }

 private:
  struct Level {
    std::uint32_t below, width, parents, ports;
    std::int64_t first_edge;
    std::int64_t edge(std::uint32_t host, std::uint32_t index, std::uint32_t port) const {
      return first_edge + (static_cast<std::int64_t>(host / below) * width + index) * ports + port;
    }
  };

  std::uint32_t down_cable(const Level& at, Chooser& chooser) const {
    if (at.ports == at.parents) return 0;
    if (spread_ == Spread::destination_modulo) return chooser.choose(at.ports, at.width) / at.parents;
    return chooser.choose(at.ports / at.parents);
  }

  std::vector<Level> levels_;
  Spread spread_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Router> make_tree_router(const TreeShape& shape, Spread spread, std::uint64_t seed) {
  return std::make_unique<TreeRouter>(shape, spread, seed);
}

}  // namespace crosscut::networks::generators
