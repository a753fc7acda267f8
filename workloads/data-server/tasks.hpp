// The tasks, and their expected results. Both depend on a task's number only, not on the number or order of
// ranks. All values are whole numbers, whose sums doubles hold exactly.
#pragma once

#include <cstdint>

#include "data-server/patches.hpp"
#include "data-server/settings.hpp"
#include "npb/common/random.hpp"

namespace crosscut::data_server {

using npb::mix;

class Tasks {
 public:
  explicit Tasks(const Settings& settings) : settings_(settings) {}

  std::int64_t count() const { return settings_.tasks; }
  // Returns a block of a task: those with `which` below `gets` are fetched, the one with `gets` is added to.
  Patch patch(std::int64_t task, std::int64_t which) const {
    const auto places = static_cast<std::uint64_t>(settings_.order - settings_.block + 1);
    const auto drawn = static_cast<std::uint64_t>(task * (settings_.gets + 1) + which);
    const std::uint64_t random = mix(mix(drawn) ^ static_cast<std::uint64_t>(settings_.seed));
    return {.row = static_cast<std::int64_t>(random % places),
            .rows = settings_.block,
            .column = static_cast<std::int64_t>(mix(random) % places),
            .columns = settings_.block};
  }

  // Returns an element of the array that is read.
  double value(std::int64_t row, std::int64_t column) const {
    return static_cast<double>(mix(cell(row, column)) % 1024);
  }
  // Returns an element's weight in an array's checksum. It is odd, so no change of a single element goes
  // unnoticed.
  std::uint64_t weight(std::int64_t row, std::int64_t column) const { return mix(~cell(row, column)) | 1; }
  // Returns a task's contribution to the checksum of the array that is added to; modulo 2^64, like all
  // checksums.
  std::uint64_t contribution(std::int64_t task) const {
    std::uint64_t sum = 0;
    const Patch target = patch(task, settings_.gets);
    for (std::int64_t which = 0; which < settings_.gets; ++which) {
      const Patch source = patch(task, which);
      for (std::int64_t column = 0; column < target.columns; ++column)
        for (std::int64_t row = 0; row < target.rows; ++row)
          sum += static_cast<std::uint64_t>(value(source.row + row, source.column + column)) *
                 weight(target.row + row, target.column + column);
    }
    return sum;
  }

 private:
  std::uint64_t cell(std::int64_t row, std::int64_t column) const {
    return static_cast<std::uint64_t>(column * settings_.order + row);
  }

  Settings settings_;
};

// Returns a checksum as a double that holds it exactly: its residue modulo the largest prime below 2^53.
inline double as_double(std::uint64_t checksum) {
  return static_cast<double>(checksum % ((std::uint64_t{1} << 53) - 111));
}

}  // namespace crosscut::data_server
