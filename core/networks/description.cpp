// Reads a whole network file: its top-level keys, and its parts in the order in which they depend on each
// other.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/error.hpp"
#include "base/words.hpp"
#include "networks/class_keys.hpp"
#include "networks/explicit_graph.hpp"
#include "networks/generator.hpp"
#include "networks/routers.hpp"

namespace crosscut::networks {
namespace {

using namespace std::string_view_literals;

constexpr std::array tables = {"generator"sv, "host"sv,  "hosts"sv,    "switch"sv,  "switches"sv,
                               "link"sv,      "links"sv, "protocol"sv, "routing"sv, "route"sv};

// Returns the value of a generator's parameter as text, as on a command line.
std::string as_text(const TomlNode& value) {
  switch (value.kind) {
    case TomlNode::Kind::boolean:
      return value.boolean ? "true" : "false";
    case TomlNode::Kind::integer:
      return std::to_string(value.integer);
    case TomlNode::Kind::real: {
      std::array<char, 32> text{};
      const auto end = std::to_chars(text.data(), text.data() + text.size(), value.real).ptr;
      return {text.data(), end};
    }
    case TomlNode::Kind::array: {
      std::string joined;
      for (const auto& item : value.items) joined += (joined.empty() ? "" : ",") + as_text(item);
      return joined;
    }
    default:
      return value.text;
  }
}

class Description {
 public:
  Description(std::string_view text, const std::string& path, std::int64_t vertices_max,
              std::optional<Spread> spread)
      : root_(read_toml(text, path)),
        mistakes_(path),
        vertices_max_(std::clamp<std::int64_t>(vertices_max, 1, 1 << 30)),
        spread_(spread) {
    network_->file = path;
    network_->spread = spread.value_or(network_->spread);
  }

  std::unique_ptr<Network> read() {
    read_top();
    read_routing();
    check_routes_are_meant();
    network_->protocol = read_protocol(root_, mistakes_);
    network_->kind = "explicit";
    if (root_.find("generator") != nullptr) {
      generate();
    } else {
      read_explicit(root_, vertices_max_, network_->graph, lines_, mistakes_);
    }
    // After a mistake, these would report its consequences as further mistakes.
    if (mistakes_.none()) check_graph(network_->graph, lines_, mistakes_);
    if (mistakes_.none()) make_router();
    mistakes_.report();
    network_->finish();
    return std::move(network_);
  }

 private:
  // Runs `body` and records its UsageError as a mistake at this line.
  template <typename Body>
  void at_line(int line, const std::string& where, Body&& body) {
    try {
      body();
    } catch (const UsageError& error) {
      mistakes_.add(line, where + ": " + error.what());
    }
  }

  void read_top() {
    TableReader top(root_, "", mistakes_);
    top.read("name", network_->name);
    top.read("title", network_->title);
    top.read("source", network_->source);
    top.read("group_word", network_->graph.group_word);
    int seed = 1;
    top.read("seed", seed, 0, 2'147'483'647);
    network_->seed = static_cast<std::uint64_t>(seed);
    for (const auto key : tables) check_table(key, top.node(key));
    top.finish();
    const auto slash = network_->file.rfind('/');
    if (network_->name.empty())
      network_->name = network_->file.substr(slash == std::string::npos ? 0 : slash + 1);
    if (network_->name.ends_with(".toml")) network_->name.resize(network_->name.size() - 5);
  }

  void check_table(std::string_view key, const TomlNode* found) {
    if (found == nullptr || found->is_table()) return;
    const bool may_be_listed = key == "hosts" || key == "switches" || key == "links" || key == "switch" ||
                               key == "link" || key == "route";
    if (key == "host" && found->is_array())
      mistakes_.add(found->line, "hosts are listed as [[hosts]]; [host] holds what they have in common");
    else if (!found->is_array() || !may_be_listed)
      mistakes_.add(found->line, std::string(key) + " must be a table; write [" + std::string(key) + "]");
  }

  void read_routing() {
    const auto* found = root_.find("routing");
    if (found == nullptr || !found->is_table()) return;
    static constexpr std::array kinds = {"shortest"sv, "static"sv, "hosts"sv};
    static constexpr std::array spreads = {"ecmp"sv, "destination-modulo"sv};
    Spread spread = Spread::ecmp;
    TableReader table(*found, "[routing]", mistakes_);
    std::size_t kind = kinds.size();
    const auto mistakes_before = mistakes_.count();
    table.read_choice("kind", kinds, kind);
    if (kind < kinds.size()) routing_ = kinds[kind];
    routing_read_ = mistakes_.count() == mistakes_before;
    table.read_choice("spread", spreads, spread);
    network_->spread = spread_.value_or(spread);
    int seed = static_cast<int>(network_->seed);
    table.read("seed", seed, 0, 2'147'483'647);
    network_->seed = static_cast<std::uint64_t>(seed);
    table.finish();
  }

  void check_routes_are_meant() {
    const auto* routes = root_.find("route");
    if (routes != nullptr && routing_ != "static" && routing_read_)
      mistakes_.add(routes->line, "[[route]] means nothing unless [routing] kind = \"static\"");
  }

  void generate() {
    const auto& given = *root_.find("generator");
    if (!given.is_table()) return;
    lines_.whole = given.line;
    for (const auto key : {"hosts"sv, "switches"sv, "links"sv})
      if (const auto* both = root_.find(key))
        mistakes_.add(both->line, "[[" + std::string(key) +
                                      "]] beside [generator]; a network is either listed or generated");
    for (const auto key : {"switch"sv, "link"sv})
      if (const auto* both = root_.find(key); both != nullptr && both->is_array())
        mistakes_.add(both->line,
                      "[[" + std::string(key) + "]] beside [generator]; write [" + std::string(key) + "]");
    Graph& graph = network_->graph;
    if (const auto* host = root_.find("host"); host != nullptr && host->is_table()) {
      TableReader table(*host, "[host]", mistakes_);
      read_host_keys(table, graph.host_classes.front());
      table.finish();
    }
    const auto* kind = given.find("kind");
    if (kind == nullptr || kind->kind != TomlNode::Kind::text)
      return mistakes_.add(given.line, "[generator] has no kind; write kind = \"fat-tree\"");
    at_line(kind->line, "[generator] kind", [&] {
      const auto& info = find_generator(kind->text);
      network_->kind = info.name;
      const auto values = parameters_of(info, given);
      if (!mistakes_.none()) return;
      at_line(given.line, "[generator] " + kind->text, [&] {
        info.make(program::Parameters(info.parameters, values, "generator " + kind->text), vertices_max_,
                  *network_);
        apply_to_classes(root_, graph, mistakes_);
      });
    });
  }

  std::map<std::string, std::string> parameters_of(const GeneratorInfo& info, const TomlNode& given) {
    std::map<std::string, std::string> values;
    std::vector<std::string_view> names;
    for (const auto& parameter : info.parameters) names.push_back(parameter.name);
    for (const auto& [key, value] : given.members) {
      if (key == "kind") continue;
      const auto known = std::ranges::find(info.parameters, key, &program::Parameter::name);
      if (known == info.parameters.end()) {
        mistakes_.add(value.line, "generator " + std::string(info.name) + " has no parameter " + shown(key) +
                                      suggestion(key, names));
        continue;
      }
      const auto text = as_text(value);
      at_line(value.line, "[generator] " + key, [&] { program::check_value(*known, text); });
      values[key] = text;
    }
    for (const auto& parameter : info.parameters)
      if (parameter.name == always_written && !values.contains(std::string(always_written)))
        mistakes_.add(given.line, "[generator] " + std::string(always_written) +
                                      ": is missing; write rate = \"100 Mbit/s\", the " +
                                      std::string(parameter.help));
    return values;
  }

  void make_router() {
    const Network& n = *network_;
    const auto* table = root_.find("routing");
    const int line = table == nullptr ? lines_.whole : table->line;
    at_line(line, "[routing]", [&] {
      if (routing_ == "hosts") {
        network_->router = std::make_unique<HostRoutes>(n.graph, n.seed);
      } else if (routing_ == "static") {
        auto routes = read_routes();
        if (mistakes_.none()) network_->router = static_routes(n.graph, std::move(routes), n.spread, n.seed);
      } else if (routing_ == "shortest" || !network_->router) {
        network_->router = std::make_unique<ShortestPaths>(n.graph, n.spread, n.seed);
      }
    });
  }

  std::vector<StaticRoute> read_routes() {
    constexpr std::size_t most_routes = std::size_t{1} << 24;
    const auto* list = root_.find("route");
    std::vector<StaticRoute> routes;
    if (list == nullptr || !list->is_array()) {
      mistakes_.add(root_.find("routing")->line,
                    "[routing] kind = \"static\" needs [[route]] entries (at, to, via)");
      return routes;
    }
    const Graph& graph = network_->graph;
    const VertexNames names(graph);
    const Adjacency adjacency(graph);
    std::map<std::pair<Vertex, Vertex>, int> lines;
    for (const auto& item : list->items) {
      TableReader table(item, "[[route]]", mistakes_);
      for (const auto key : {"at"sv, "to"sv, "via"sv})
        if (!table.has(key)) table.mistake(key, "is missing");
      const auto at = names.of(table, "at"), to = names.of(table, "to"), via = names.of(table, "via");
      table.finish();
      if (via.size() > 1 && via.size() != at.size())
        table.mistake("via", "must be one neighbour, or one for each of `at`");
      if (mistakes_.full() || (!mistakes_.none() && via.size() != 1 && via.size() != at.size())) continue;
      if (routes.size() + at.size() * to.size() > most_routes) {
        table.mistake("to", "makes more than " + std::to_string(most_routes) + " routes");
        break;
      }
      for (std::size_t i = 0; i < at.size() && !via.empty(); ++i) {
        const Vertex next = via[via.size() == 1 ? 0 : i];
        check_hop(graph, adjacency, at[i], next, table);
        for (const Vertex destination : to) add_route(table, {at[i], destination, next}, lines, routes);
      }
    }
    return routes;
  }

  void check_hop(const Graph& graph, const Adjacency& adjacency, Vertex at, Vertex next, TableReader& table) {
    const auto leads = [&](Lane lane) { return graph.head(lane) == next; };
    if (std::ranges::none_of(adjacency.leaving(at), leads))
      table.mistake("via", graph.name(at) + " is not wired to " + graph.name(next));
  }

  void add_route(TableReader& table, const StaticRoute& route,
                 std::map<std::pair<Vertex, Vertex>, int>& lines, std::vector<StaticRoute>& routes) {
    const Graph& graph = network_->graph;
    if (mistakes_.full()) return;
    if (!graph.is_host(route.destination))
      return table.mistake("to", graph.name(route.destination) + " is a switch; a route must lead to hosts");
    if (route.at == route.destination) return;  // `at` may name all vertices, the destination included
    if (graph.is_host(route.via) && route.via != route.destination &&
        graph.host(route.via).forwards == Forwarding::no)
      return table.mistake("via", graph.name(route.via) + " is a host that does not forward");
    const auto [known, is_new] = lines.emplace(std::pair(route.at, route.destination), table.line());
    if (!is_new)
      return table.mistake("to", "line " + std::to_string(known->second) + " already routes " +
                                     graph.name(route.destination) + " from " + graph.name(route.at) +
                                     "; keep one of the two");
    routes.push_back(route);
  }

  TomlNode root_;
  Mistakes mistakes_;
  std::int64_t vertices_max_;
  std::optional<Spread> spread_;  // overrides the file's
  std::unique_ptr<Network> network_ = std::make_unique<Network>();
  Lines lines_;
  std::string_view routing_;  // empty: the generator's choice
  bool routing_read_ = true;  // false: its value is a mistake
};

}  // namespace

std::unique_ptr<Network> parse_network(std::string_view text, const std::string& path,
                                       std::int64_t vertices_max, std::optional<Spread> spread) {
  return Description(text, path, vertices_max, spread).read();
}

}  // namespace crosscut::networks
