// What is to be done, and what must come of it: functions of a task's number alone, so that neither the
// number of ranks nor their order matters. All values are whole numbers, whose sums doubles hold exactly.
#pragma once

#include <cstdint>

#include "data-server/patches.hpp"
#include "data-server/settings.hpp"

namespace crosscut::data_server {

// splitmix64's finaliser (Steele, Lea, Flood, OOPSLA 2014).
constexpr std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

class Tasks {
 public:
  explicit Tasks(const Settings& settings) : settings_(settings) {}

  std::int64_t count() const { return settings_.tasks; }
  // The blocks that a task fetches are `which` 0 to gets - 1; `gets` is the one that it adds to.
  Patch patch(std::int64_t task, std::int64_t which) const;
  // Of the array that is read.
  double value(std::int64_t row, std::int64_t column) const {
    return static_cast<double>(mixed(cell(row, column)) % 1024);
  }
  // By which an element counts in the checksum of an array. Odd: no change of one element goes unseen.
  std::uint64_t weight(std::int64_t row, std::int64_t column) const { return mixed(~cell(row, column)) | 1; }
  // What a task adds to the checksum of the array that is added to. Modulo 2^64, as all checksums.
  std::uint64_t contribution(std::int64_t task) const;

 private:
  std::uint64_t cell(std::int64_t row, std::int64_t column) const {
    return static_cast<std::uint64_t>(column * settings_.order + row);
  }

  Settings settings_;
};

// A checksum as a double that holds it: its residue of the largest prime below 2^53.
inline double as_double(std::uint64_t checksum) {
  return static_cast<double>(checksum % ((std::uint64_t{1} << 53) - 111));
}

}  // namespace crosscut::data_server
