#include "networks/generator.hpp"

#include <array>
#include <vector>

#include "base/error.hpp"
#include "base/words.hpp"

namespace crosscut::networks {

namespace generators {
#define CROSSCUT_GENERATOR(id) extern const GeneratorInfo generator_##id;
#include "networks/generators.def"
#undef CROSSCUT_GENERATOR
}  // namespace generators

std::span<const GeneratorInfo* const> all_generators() {
#define CROSSCUT_GENERATOR(id) &generators::generator_##id,
  static constexpr std::array all = {
#include "networks/generators.def"
  };
#undef CROSSCUT_GENERATOR
  return all;
}

const GeneratorInfo& find_generator(std::string_view name) {
  return find_named(all_generators(), "generator", name);
}

void check_room(double hosts, double switches, double links, std::int64_t vertices_max) {
  constexpr double links_for_a_vertex = 64;  // a Graph of 4 million vertices then takes 3 GB at most
  const auto most = static_cast<double>(vertices_max);
  const auto count = [](double value) {
    return std::to_string(static_cast<long long>(value < 9e18 ? value : 9e18));
  };
  if (!(hosts + switches <= most))
    throw UsageError(count(hosts) + " hosts and " + count(switches) + " switches are more than the " +
                     std::to_string(vertices_max) + " that are possible");
  if (!(links <= most * links_for_a_vertex))
    throw UsageError(count(links) + " links are more than the " + count(most * links_for_a_vertex) +
                     " that are possible");
}

}  // namespace crosscut::networks
