// The connections that a run's messages used, for its attribute `connections` (docs/reference/run-format.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/json.hpp"
#include "store/store.hpp"

namespace crosscut::conduct {

class UsedConnections {
 public:
  // Most rows of a run. Each is a line of zarr.json, which every reader parses.
  static constexpr std::size_t most_rows = std::size_t{1} << 14;

  void add(std::span<const store::Connection> used);
  // Returns the attribute `connections` for a run with these attributes: the connections of earlier sessions,
  // then those of this one; null if there are none. Beyond `most_rows` it has a count but no rows.
  json::Value after(const json::Value& attributes) const;

 private:
  std::int64_t count_ = 0;
  std::vector<store::Connection> kept_;  // the first `most_rows`
};

}  // namespace crosscut::conduct
