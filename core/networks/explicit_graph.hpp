// Reads hosts, switches and links that a file lists one by one or by ranges of names, and checks any network.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "networks/reading.hpp"

namespace crosscut::networks {

// Finds vertices by name, including generated names.
class VertexNames {
 public:
  explicit VertexNames(const Graph& graph);
  // Returns the vertices of a list of names and ranges, and adds a mistake for each unknown name.
  // `incomplete`: some names could not be read, so unknown ones are not reported again.
  std::vector<Vertex> of(TableReader& table, std::string_view key, bool incomplete = false) const;

 private:
  std::unordered_map<std::string, Vertex> vertices_;
  std::vector<std::string_view> near_;  // for suggestions
};

// Lines of the file, for mistakes about vertices.
struct Lines {
  std::vector<int> vertices;  // [vertex]; empty: `whole`
  int whole = 1;
  int of(Vertex v) const {
    const auto at = static_cast<std::size_t>(v);
    return at < vertices.size() ? vertices[at] : whole;
  }
};

// Expands ranges of names, "n[000-015,020]", as Slurm and pdsh write them.
//
// Appends the names in order. Several brackets multiply, the last one varying fastest. Leading zeros are
// kept. Throws UsageError if `text` is not a list of names, or if there would be more than `most` names in
// all.
void expand_names(std::string_view text, std::size_t most, std::vector<std::string>& names);

// Reads [[hosts]], [[switches]], [[links]] with the defaults of [host], [switch], [link].
void read_explicit(const TomlNode& root, std::int64_t vertices_max, Graph& graph, Lines& lines,
                   Mistakes& mistakes);

// Checks that every network, listed or generated, must pass before it is used. Adds a mistake for each host
// without a link, each host that cannot reach another, and each switch with more links than ports.
void check_graph(const Graph& graph, const Lines& lines, Mistakes& mistakes);

}  // namespace crosscut::networks
