// Reads hosts, switches and links that a file lists one by one or by ranges of names.
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
  Vertex find(const std::string& name) const;  // -1: none
  // Returns the vertices of a list of names and ranges, and adds a mistake for each unknown name.
  // `incomplete`: some names could not be read, so unknown ones are not reported again.
  std::vector<Vertex> of(TableReader& table, std::string_view key, bool incomplete = false) const;

 private:
  std::unordered_map<std::string, Vertex> vertices_;
  std::vector<std::string_view> near_;  // for suggestions
};

struct Lines {
  std::vector<int> vertices;  // [vertex]; empty: `whole`
  int whole = 1;
  int of(Vertex v) const {
    const auto at = static_cast<std::size_t>(v);
    return at < vertices.size() ? vertices[at] : whole;
  }
};

// Reads [[hosts]], [[switches]], [[links]] with the defaults of [host], [switch], [link].
void read_explicit(const TomlNode& root, std::int64_t vertices_max, Graph& graph, Lines& lines,
                   Mistakes& mistakes);

}  // namespace crosscut::networks
