// A generator makes a network from a few numbers. Each is one file and one line in generators.def.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "networks/network.hpp"
#include "program/parameters.hpp"

namespace crosscut::networks {

struct GeneratorInfo {
  std::string_view name;                           // "fat-tree"
  std::string_view summary;                        // one sentence
  std::string_view source;                         // publication of the structure
  std::span<const program::Parameter> parameters;  // keys of the [generator] table except `kind`
  // Fills graph, router (null: shortest paths on the graph) and closed forms. The caller applies the file's
  // host, protocol and price tables: `network.graph` arrives with the classes that the file gives. Throws
  // UsageError for values that do not fit together. Must not allocate before it has checked them against
  // `vertices_max`.
  void (*make)(const program::Parameters&, std::int64_t vertices_max, Network& network);
};

// Name of the parameter that has no default in a file. With a default, measurements would be compared with a
// rate that nobody stated.
inline constexpr std::string_view always_written = "rate";

std::span<const GeneratorInfo* const> all_generators();
const GeneratorInfo& find_generator(std::string_view name);  // UsageError with the nearest names

// Throws UsageError if a network would be too large; generators call it before they allocate. Takes doubles,
// so that products of hostile parameters do not overflow.
void check_room(double hosts, double switches, double links, std::int64_t vertices_max);

#define CROSSCUT_DEFINE_GENERATOR(id, ...)          \
  namespace crosscut::networks::generators {        \
  extern const GeneratorInfo generator_##id;        \
  const GeneratorInfo generator_##id = __VA_ARGS__; \
  }

}  // namespace crosscut::networks
