#include "data-server/tasks.hpp"

namespace crosscut::data_server {

Patch Tasks::patch(std::int64_t task, std::int64_t which) const {
  const auto places = static_cast<std::uint64_t>(settings_.order - settings_.block + 1);
  const auto drawn = static_cast<std::uint64_t>(task * (settings_.gets + 1) + which);
  const std::uint64_t random = mixed(mixed(drawn) ^ static_cast<std::uint64_t>(settings_.seed));
  return {.row = static_cast<std::int64_t>(random % places),
          .rows = settings_.block,
          .column = static_cast<std::int64_t>(mixed(random) % places),
          .columns = settings_.block};
}

std::uint64_t Tasks::contribution(std::int64_t task) const {
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

}  // namespace crosscut::data_server
