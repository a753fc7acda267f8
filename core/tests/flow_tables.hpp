// Random flow tables, and a direct check of max-min fairness.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "networks/rates.hpp"

namespace crosscut::tests {

inline networks::FlowTable table_of(const std::vector<std::vector<std::int32_t>>& rows) {
  networks::FlowTable table;
  for (const auto& row : rows) {
    table.uses.insert(table.uses.end(), row.begin(), row.end());
    table.end_row();
  }
  return table;
}

struct RandomTable {
  std::vector<double> capacities;
  std::vector<std::vector<std::int32_t>> rows;
  networks::FlowTable table() const { return table_of(rows); }
};

// Draws a table with some infinite and many equal capacities, rows of any length, and repeated uses.
inline RandomTable random_table(std::uint64_t seed) {
  Random random(seed);
  RandomTable made;
  const auto capacities = 1 + random.below(30);
  for (std::uint64_t i = 0; i < capacities; ++i) {
    const auto kind = random.below(8);
    if (kind == 0) {
      made.capacities.push_back(std::numeric_limits<double>::infinity());
    } else if (kind < 4) {
      made.capacities.push_back(1e9);
    } else {
      made.capacities.push_back(
          std::ldexp(1 + static_cast<double>(random.below(1000)) / 1000, static_cast<int>(random.below(40))));
    }
  }
  const auto flows = random.below(60);
  for (std::uint64_t flow = 0; flow < flows; ++flow) {
    auto& row = made.rows.emplace_back();
    for (auto uses = random.below(6); uses > 0; --uses)
      row.push_back(static_cast<std::int32_t>(random.below(capacities)));
  }
  return made;
}

// Returns an empty string if no capacity is exceeded and every flow has a bottleneck, a full capacity on
// which no flow is faster (max-min fairness by Bertsekas and Gallager, section 6.5.2); otherwise the mistake.
inline std::string unfairness(std::span<const double> capacities, const networks::FlowTable& table,
                              std::span<const double> rates) {
  constexpr double slack = 1e-9;
  std::vector<double> load(capacities.size(), 0), fastest(capacities.size(), 0);
  for (std::size_t flow = 0; flow < table.flows(); ++flow) {
    for (const auto use : table.row(flow)) {
      const auto at = static_cast<std::size_t>(use);
      load[at] += rates[flow];
      fastest[at] = std::max(fastest[at], rates[flow]);
    }
  }
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    if (load[i] > capacities[i] * (1 + slack)) return "capacity " + std::to_string(i) + " is exceeded";
  }
  for (std::size_t flow = 0; flow < table.flows(); ++flow) {
    bool bound = false, bottleneck = false;
    for (const auto use : table.row(flow)) {
      const auto at = static_cast<std::size_t>(use);
      if (std::isinf(capacities[at])) continue;
      bound = true;
      bottleneck = bottleneck ||
                   (load[at] >= capacities[at] * (1 - slack) && rates[flow] >= fastest[at] * (1 - slack));
    }
    if (bound && !bottleneck) return "flow " + std::to_string(flow) + " could be faster";
    if (!bound && !std::isinf(rates[flow])) return "flow " + std::to_string(flow) + " has no bound";
  }
  return {};
}

}  // namespace crosscut::tests
