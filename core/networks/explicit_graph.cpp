#include "networks/explicit_graph.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/error.hpp"
#include "base/words.hpp"
#include "networks/class_keys.hpp"

namespace crosscut::networks {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t most_classes = 65'535;  // Graph numbers them with 16 bits
constexpr std::size_t links_for_a_vertex = 64;

// Returns the tables under `plural` ([[hosts]]), or those under `singular` if that is an array as well;
// nullptr if there are none. Adds a mistake if an entry is not a table.
const TomlNode* listed(const TomlNode& root, std::string_view plural, std::string_view singular,
                       Mistakes& mistakes) {
  const auto* found = root.find(plural);
  if (found == nullptr) found = root.find(singular);
  if (found == nullptr || (found->is_table() && root.find(plural) == nullptr)) return nullptr;
  const bool is_right = found->is_array() && std::ranges::all_of(found->items, [](const TomlNode& item) {
                          return item.is_table();
                        });
  if (is_right) return found;
  if (found->is_array() || found->is_table())  // anything else has been reported at the top
    mistakes.add(found->line, std::string(plural) + " must be tables; write [[" + std::string(plural) + "]]");
  return nullptr;
}

template <typename Class, typename Read>
Class defaults(const TomlNode& root, std::string_view word, Mistakes& mistakes, Read read) {
  Class result;
  const auto* table = root.find(word);
  if (table == nullptr || !table->is_table()) return result;
  TableReader reader(*table, "[" + std::string(word) + "]", mistakes);
  read(reader, result);
  reader.finish();
  return result;
}

constexpr int no_group = -1;

class ExplicitReader {
 public:
  ExplicitReader(const TomlNode& root, std::int64_t vertices_max, Graph& graph, Lines& lines,
                 Mistakes& mistakes)
      : root_(root),
        vertices_max_(static_cast<std::size_t>(vertices_max)),
        graph_(graph),
        lines_(lines),
        mistakes_(mistakes) {}

  void read() {
    if (const auto* host = root_.find("host"); host != nullptr && host->is_array()) names_missing_ = true;
    read_hosts();
    read_switches();
    if (!graph_.group.empty()) graph_.group.resize(static_cast<std::size_t>(graph_.vertices()), no_group);
    const VertexNames names(graph_);
    read_links(names);
  }

 private:
  const TomlNode* listed_names(std::string_view plural, std::string_view singular) {
    const auto* list = listed(root_, plural, singular, mistakes_);
    const bool is_written = root_.find(plural) != nullptr;
    names_missing_ = names_missing_ || (list == nullptr && is_written);
    return list;
  }

  // Returns the names of an entry that are new.
  std::vector<std::string> new_names(TableReader& table, std::string_view key) {
    std::vector<std::string> names;
    const auto mistakes_before = mistakes_.count();
    if (!table.has(key)) table.mistake(key, "is missing");
    for (const auto& text : table.read_texts(key)) {
      try {
        const auto taken = graph_.host_names.size() + graph_.switch_names.size();
        expand_names(text, vertices_max_ - std::min(vertices_max_, taken), names);
      } catch (const UsageError& error) {
        table.mistake(key, error.what());
      }
    }
    names_missing_ = names_missing_ || mistakes_.count() > mistakes_before;
    std::erase_if(names, [&](const std::string& name) {
      const auto [place, is_new] = named_.emplace(name, table.line());
      if (!is_new)
        table.mistake(key, shown(name) + " is already defined on line " + std::to_string(place->second));
      return !is_new;
    });
    return names;
  }

  void read_group(TableReader& table, Vertex first, std::size_t count) {
    int group = no_group;
    table.read("group", group, 0, 1'000'000'000);
    if (group == no_group) return;
    graph_.group.resize(static_cast<std::size_t>(first), no_group);
    graph_.group.resize(static_cast<std::size_t>(first) + count, group);
  }

  void read_hosts() {
    graph_.host_classes = {defaults<HostClass>(root_, "host", mistakes_,
                                               [](TableReader& t, HostClass& c) { read_host_keys(t, c); })};
    const auto* list = listed_names("hosts", "hosts");
    if (list == nullptr) return;
    for (const auto& item : list->items) {
      TableReader table(item, "[[hosts]]", mistakes_);
      auto names = new_names(table, "names");
      HostClass its = graph_.host_classes.front();
      its.name = names.empty() ? "host" : names.front();
      table.read("class", its.name);
      read_host_keys(table, its);
      read_group(table, static_cast<Vertex>(graph_.host_names.size()), names.size());
      table.finish();
      const bool is_own = std::ranges::any_of(
          item.members, [](const auto& m) { return m.key != "names" && m.key != "group"; });
      if (is_own && graph_.host_classes.size() >= most_classes) {
        mistakes_.add(item.line,
                      "more than 65535 entries of hosts with keys of their own; name several in one, "
                      "names = \"n[0-99]\"");
        break;
      }
      if (is_own) graph_.host_classes.push_back(std::move(its));
      const auto number = is_own ? graph_.host_classes.size() - 1 : 0;
      graph_.host_class.insert(graph_.host_class.end(), names.size(), static_cast<std::uint16_t>(number));
      lines_.vertices.insert(lines_.vertices.end(), names.size(), item.line);
      std::ranges::move(names, std::back_inserter(graph_.host_names));
    }
    graph_.hosts = static_cast<Vertex>(graph_.host_names.size());
  }

  void read_switches() {
    const auto common = defaults<SwitchClass>(
        root_, "switch", mistakes_, [](TableReader& t, SwitchClass& c) { read_switch_keys(t, c, false); });
    const auto* list = listed_names("switches", "switch");
    if (list == nullptr) return;
    for (const auto& item : list->items) {
      TableReader table(item, "[[switches]]", mistakes_);
      auto names = new_names(table, "names");
      SwitchClass its = common;
      its.name = names.empty() ? "switch" : names.front();
      table.read("class", its.name);
      read_switch_keys(table, its, false);
      int level = 0;
      table.read("level", level, 0, 100);
      const auto first = graph_.hosts + static_cast<Vertex>(graph_.switch_names.size());
      read_group(table, first, names.size());
      table.finish();
      if (graph_.switch_classes.size() >= most_classes) {
        mistakes_.add(item.line,
                      "more than 65535 entries of switches; name several in one, names = \"s[0-99]\"");
        break;
      }
      graph_.switch_classes.push_back(std::move(its));
      graph_.switch_class.insert(graph_.switch_class.end(), names.size(),
                                 static_cast<std::uint16_t>(graph_.switch_classes.size() - 1));
      graph_.level.insert(graph_.level.end(), names.size(), static_cast<std::int8_t>(level));
      lines_.vertices.insert(lines_.vertices.end(), names.size(), item.line);
      std::ranges::move(names, std::back_inserter(graph_.switch_names));
    }
    graph_.switches = static_cast<Vertex>(graph_.switch_names.size());
  }

  void read_links(const VertexNames& names) {
    const auto common = defaults<LinkClass>(
        root_, "link", mistakes_, [](TableReader& t, LinkClass& c) { read_link_keys(t, c, false); });
    const auto* list = listed(root_, "links", "link", mistakes_);
    if (list == nullptr) return;
    for (const auto& item : list->items) {
      TableReader table(item, "[[links]]", mistakes_);
      read_link(table, common, names);
      table.finish();
      if (mistakes_.full() || graph_.edges.size() > vertices_max_ * links_for_a_vertex) break;
    }
  }

  void read_link(TableReader& table, LinkClass its, const VertexNames& names) {
    table.read("class", its.name);
    read_link_keys(table, its, false);
    static constexpr std::array words = {"pooled"sv, "flow"sv};
    std::size_t spread = 0;
    const auto mistakes_before = mistakes_.count();
    table.read("cables", its.cables, 1, 100'000);
    const bool cables_read = mistakes_.count() == mistakes_before;
    table.read_choice("spread", words, spread);
    if (table.has("spread") && its.cables == 1 && cables_read)
      table.mistake("spread", "means nothing with one cable");
    if (!(its.rate > 0) && !table.has("rate") && !common_has_rate() && !table.has_unknown_like("rate"))
      table.mistake("rate", "is missing, here and in [link]; write rate = \"100 Mbit/s\"");
    const auto [a, b] = ends(table, names);
    const auto copies = spread == 1 ? static_cast<std::size_t>(its.cables) : 1;
    if (spread == 1) {
      its.cables = 1;
    } else {
      its.rate *= its.cables;
      its.back_rate *= its.cables;
    }
    const auto pairs = std::max(a.size(), b.size());
    if (a.empty() || b.empty()) return;
    if (graph_.edges.size() + pairs * copies > vertices_max_ * links_for_a_vertex)
      return table.mistake("between", "makes more links than are possible here");
    const auto number = class_number(table, its);
    for (std::size_t i = 0; i < pairs; ++i) {
      const Edge edge{a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i], number};
      if (edge.a == edge.b) {
        table.mistake("between", shown(graph_.name(edge.a)) + " is wired to itself");
        break;
      }
      graph_.edges.insert(graph_.edges.end(), copies, edge);
    }
  }

  // True also for a rate that could not be read: that has been reported.
  bool common_has_rate() const {
    const auto* table = root_.find("link");
    return table != nullptr && table->is_table() && table->find("rate") != nullptr;
  }

  std::pair<std::vector<Vertex>, std::vector<Vertex>> ends(TableReader& table, const VertexNames& names) {
    const auto* between = table.node("between");
    if (between == nullptr || !between->is_array() || between->items.size() != 2) {
      table.mistake("between", R"(must be two ends; write between = ["n[000-015]", "leaf1"])");
      return {};
    }
    // Each end is a text or a list of texts, read like any other key.
    std::array<std::vector<Vertex>, 2> found;
    for (std::size_t end = 0; end < 2; ++end) {
      TomlNode holder;
      holder.line = table.line();
      holder.members.push_back({"between", between->items[end]});
      TableReader reader(holder, table.where(), mistakes_);
      found[end] = names.of(reader, "between", names_missing_);
      if (found[end].empty()) return {};
    }
    // By value, since the arguments are temporaries.
    const auto [fewer, more] = std::minmax({found[0].size(), found[1].size()});
    if (fewer != 1 && fewer != more) {
      table.mistake(
          "between",
          std::to_string(found[0].size()) + " names at one end and " + std::to_string(found[1].size()) +
              " at the other; write equally many (the i-th is wired to the i-th), or just one at one end");
      return {};
    }
    return {std::move(found[0]), std::move(found[1])};
  }

  // Equal links share one class, however many entries list them.
  std::uint16_t class_number(TableReader& table, const LinkClass& its) {
    const auto found = classes_.find(its);
    if (found != classes_.end()) return found->second;
    if (graph_.link_classes.size() >= most_classes) {
      table.mistake("between", "more than 65535 kinds of links");
      return 0;
    }
    graph_.link_classes.push_back(its);
    const auto number = static_cast<std::uint16_t>(graph_.link_classes.size() - 1);
    classes_.emplace(its, number);
    return number;
  }

  const TomlNode& root_;
  std::size_t vertices_max_;
  Graph& graph_;
  Lines& lines_;
  Mistakes& mistakes_;
  std::unordered_map<std::string, int> named_;  // line of each name
  bool names_missing_ = false;                  // true: some could not be read
  std::map<LinkClass, std::uint16_t> classes_;
};

}  // namespace

VertexNames::VertexNames(const Graph& graph) {
  constexpr std::size_t most_near = 1000;  // every suggestion compares all of them
  vertices_.reserve(static_cast<std::size_t>(graph.vertices()));
  for (Vertex v = 0; v < graph.vertices(); ++v) vertices_.emplace(graph.name(v), v);
  for (const auto& [name, v] : vertices_)
    if (near_.size() < most_near) near_.push_back(name);
  std::ranges::sort(near_);
}

std::vector<Vertex> VertexNames::of(TableReader& table, std::string_view key, bool incomplete) const {
  constexpr std::size_t most_beyond = 1000;  // so that the first unknown name is reported, not their number
  std::vector<std::string> names;
  for (const auto& text : table.read_texts(key)) {
    try {
      expand_names(text, vertices_.size() + most_beyond, names);
    } catch (const UsageError& error) {
      if (!incomplete) table.mistake(key, error.what());
      return {};
    }
  }
  std::vector<Vertex> vertices;
  for (const auto& name : names) {
    const auto found = vertices_.find(name);
    if (found == vertices_.end()) {
      if (!incomplete)
        table.mistake(key, "there is no host or switch " + shown(name) +
                               (near_.empty() ? "" : suggestion(name, near_)));
      return {};
    }
    vertices.push_back(found->second);
  }
  return vertices;
}

void read_explicit(const TomlNode& root, std::int64_t vertices_max, Graph& graph, Lines& lines,
                   Mistakes& mistakes) {
  ExplicitReader(root, vertices_max, graph, lines, mistakes).read();
}

}  // namespace crosscut::networks
