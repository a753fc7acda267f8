// Hand-written routes.
#include <algorithm>

#include "base/error.hpp"
#include "networks/routers.hpp"

namespace crosscut::networks {
namespace {

class StaticRoutes : public Router {
 public:
  StaticRoutes(const Graph& graph, std::vector<StaticRoute> routes, Spread spread, std::uint64_t seed)
      : graph_(&graph), routes_(std::move(routes)), rest_(graph, spread, seed) {
    std::ranges::sort(routes_, before);
    check();
  }

  void route(const RouteRequest& request, std::vector<Lane>& lanes) const override {
    PathChooser chooser(request, rest_.spread(), rest_.seed());
    std::vector<Lane> open;
    for (Vertex at = request.source; at != request.destination;) {
      next_lanes(at, request.destination, open);
      if (open.empty())
        throw UsageError("there is no path from " + graph_->name(at) + " to " +
                         graph_->name(request.destination));
      const bool is_first = at == request.source && request.source_adapter >= 0;
      const Lane lane = is_first ? by_adapter(request, open, chooser) : open[chooser.pick(open.size())];
      lanes.push_back(lane);
      at = graph_->head(lane);
    }
  }

 private:
  static bool before(const StaticRoute& a, const StaticRoute& b) {
    return std::pair(a.destination, a.at) < std::pair(b.destination, b.at);
  }

  Lane by_adapter(const RouteRequest& request, const std::vector<Lane>& open, PathChooser& chooser) const {
    const auto leaving = rest_.adjacency().leaving(request.source);
    const auto adapter = static_cast<std::size_t>(request.source_adapter);
    if (adapter < leaving.size() && std::ranges::find(open, leaving[adapter]) != open.end())
      return leaving[adapter];
    return open[chooser.pick(open.size())];
  }

  void next_lanes(Vertex at, Vertex destination, std::vector<Lane>& open) const {
    open.clear();
    const StaticRoute wanted{at, destination, 0};
    const auto found = std::ranges::lower_bound(routes_, wanted, before);
    if (found == routes_.end() || before(wanted, *found)) return rest_.first_lanes(at, destination, open);
    for (const Lane lane : rest_.adjacency().leaving(at))
      if (graph_->head(lane) == found->via) open.push_back(lane);
  }

  // Depth-first search towards each listed destination: tables mixed with shortest paths can loop.
  void check() const {
    constexpr double most_steps = 2e8;
    std::vector<Vertex> destinations;
    for (const auto& route : routes_) destinations.push_back(route.destination);
    destinations.erase(std::unique(destinations.begin(), destinations.end()), destinations.end());
    if (static_cast<double>(destinations.size()) * static_cast<double>(graph_->edges.size() + 1) > most_steps)
      throw UsageError("the static routes are for too many destinations to be checked for loops");
    for (const Vertex destination : destinations) check(destination);
  }

  void check(Vertex destination) const {
    enum : std::uint8_t { unseen, on_the_way, fine };
    struct Visit {
      Vertex at;
      std::vector<Lane> open;
    };
    std::vector<std::uint8_t> state(static_cast<std::size_t>(graph_->vertices()), unseen);
    state[static_cast<std::size_t>(destination)] = fine;
    std::vector<Visit> visits;
    const auto enter = [&](Vertex at) {
      state[static_cast<std::size_t>(at)] = on_the_way;
      visits.push_back({at, {}});
      next_lanes(at, destination, visits.back().open);
    };
    for (Vertex source = 0; source < graph_->vertices(); ++source) {
      if (state[static_cast<std::size_t>(source)] == unseen) enter(source);
      while (!visits.empty()) {
        auto& [at, open] = visits.back();
        if (open.empty()) {
          state[static_cast<std::size_t>(at)] = fine;
          visits.pop_back();
          continue;
        }
        const Vertex next = graph_->head(open.back());
        open.pop_back();
        if (state[static_cast<std::size_t>(next)] == on_the_way)
          throw UsageError("messages to " + graph_->name(destination) + " loop through " +
                           graph_->name(next) + " and " + graph_->name(at) +
                           "; correct the [[route]] entries of the two");
        if (state[static_cast<std::size_t>(next)] == unseen) enter(next);
      }
    }
  }

  const Graph* graph_;
  std::vector<StaticRoute> routes_;
  ShortestPaths rest_;
};

}  // namespace

std::unique_ptr<Router> static_routes(const Graph& graph, std::vector<StaticRoute> routes, Spread spread,
                                      std::uint64_t seed) {
  return std::make_unique<StaticRoutes>(graph, std::move(routes), spread, seed);
}

}  // namespace crosscut::networks
