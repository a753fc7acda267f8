// What makes a network from a few numbers: one file each, and one line in generators.def.
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
  std::string_view source;                         // where the structure comes from
  std::span<const program::Parameter> parameters;  // keys of the file's [generator] table beside `kind`
  // Fills graph, router (null: shortest paths on the graph), closed forms. Host, protocol and price tables of
  // the file are applied by the caller: classes arrive in `network.graph` as far as the file gives them.
  // Throws UsageError for values that do not fit together; must not take memory before it has checked them
  // against `vertices_max`.
  void (*make)(const program::Parameters&, std::int64_t vertices_max, Network& network);
};

// A network of a rate that nobody wrote would be measured against a figure that nobody promised: the
// parameter of this name has no default in a file.
inline constexpr std::string_view always_written = "rate";

std::span<const GeneratorInfo* const> all_generators();
const GeneratorInfo& find_generator(std::string_view name);  // UsageError with the nearest names

// For generators, before they take memory: throws UsageError where a network would be too large. In doubles,
// so that products of hostile parameters do not overflow.
void check_room(double hosts, double switches, double links, std::int64_t vertices_max);

#define CROSSCUT_DEFINE_GENERATOR(id, ...)          \
  namespace crosscut::networks::generators {        \
  extern const GeneratorInfo generator_##id;        \
  const GeneratorInfo generator_##id = __VA_ARGS__; \
  }

}  // namespace crosscut::networks
