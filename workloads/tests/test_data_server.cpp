// The parts of the data server that need no messages: the distribution of the array, tasks and their results.
#include <cstdint>
#include <set>
#include <vector>

#include "data-server/patches.hpp"
#include "data-server/roles.hpp"
#include "data-server/settings.hpp"
#include "data-server/tasks.hpp"
#include "program/computing.hpp"
#include "tests/check.hpp"

using namespace crosscut::data_server;
using crosscut::program::Arguments;

namespace {

Settings small() {
  Settings settings;
  settings.order = 23;
  settings.block = 5;
  settings.tasks = 40;
  return settings;
}

// Adds all tasks' results to one whole array, without servers, and returns its checksum.
std::uint64_t checksum_by_hand(const Settings& settings) {
  const Tasks tasks(settings);
  std::vector<double> array(static_cast<std::size_t>(settings.order * settings.order), 0.0);
  const auto at = [&](std::int64_t row, std::int64_t column) -> double& {
    return array[static_cast<std::size_t>(column * settings.order + row)];
  };
  for (std::int64_t task = 0; task < tasks.count(); ++task)
    for (std::int64_t which = 0; which < settings.gets; ++which) {
      const Patch from = tasks.patch(task, which);
      const Patch to = tasks.patch(task, settings.gets);
      for (std::int64_t column = 0; column < settings.block; ++column)
        for (std::int64_t row = 0; row < settings.block; ++row)
          at(to.row + row, to.column + column) += tasks.value(from.row + row, from.column + column);
    }
  std::uint64_t sum = 0;
  for (std::int64_t column = 0; column < settings.order; ++column)
    for (std::int64_t row = 0; row < settings.order; ++row)
      sum += static_cast<std::uint64_t>(at(row, column)) * tasks.weight(row, column);
  return sum;
}

}  // namespace

TEST(every_column_has_one_server_and_they_are_shared_evenly) {
  for (const std::int64_t order : {1, 2, 7, 64, 131072})
    for (const int servers : {1, 2, 3, 7, 100}) {
      const Distribution distribution(order, servers);
      CHECK_EQ(distribution.first_column(0), 0);
      CHECK_EQ(distribution.first_column(servers), order);
      for (int server = 0; server < servers; ++server) {
        const std::int64_t columns = distribution.columns(server);
        CHECK(columns == order / servers || columns == order / servers + 1);
        if (columns == 0) continue;
        CHECK_EQ(distribution.owner(distribution.first_column(server)), server);
        CHECK_EQ(distribution.owner(distribution.first_column(server + 1) - 1), server);
      }
    }
}

TEST(parts_of_a_patch_cover_it_once_and_belong_to_who_is_asked) {
  const Distribution distribution(23, 4);
  for (std::int64_t column = 0; column < 23; ++column)
    for (std::int64_t columns = 1; column + columns <= 23; ++columns) {
      std::int64_t next = column;
      int before = -1;
      distribution.for_each_part({3, 5, column, columns}, [&](int server, const Patch& part) {
        CHECK(server > before);
        CHECK_EQ(part.column, next);
        CHECK_EQ(part.rows, 5);
        CHECK(distribution.has(server, part));
        before = server;
        next += part.columns;
      });
      CHECK_EQ(next, column + columns);
    }
}

TEST(a_server_refuses_what_it_does_not_hold_however_large_the_numbers_are) {
  const Distribution distribution(20, 2);
  constexpr std::int64_t huge = INT64_MAX;
  CHECK(distribution.has(1, {0, 20, 10, 10}));
  for (const Patch& patch :
       {Patch{0, 20, 9, 2}, Patch{0, 20, 10, 11}, Patch{1, 20, 10, 1}, Patch{-1, 2, 10, 1},
        Patch{0, 0, 10, 1}, Patch{0, 1, 10, 0}, Patch{huge, huge, 10, 1}, Patch{0, 1, huge, huge},
        Patch{0, 1, 10, huge}, Patch{0, 1, 10, -huge}, Patch{0, -huge, 10, 1}, Patch{0, 1, -huge, 1}})
    CHECK(!distribution.has(1, patch));
}

TEST(a_request_comes_out_as_it_went_in_and_unknown_ones_do_not) {
  const Request request{Request::Kind::add, {1, 2, 3, 4}};
  const auto read = Request::of(request.words());
  REQUIRE(read.has_value());
  CHECK(read->kind == Request::Kind::add);
  CHECK(read->patch == request.patch);
  CHECK(!Request::of({5, 0, 0, 0, 0}));
  CHECK(!Request::of({-1, 0, 0, 0, 0}));
}

TEST(patches_of_tasks_lie_in_the_array_and_differ) {
  const Settings settings = small();
  const Tasks tasks(settings);
  std::set<std::pair<std::int64_t, std::int64_t>> places;
  for (std::int64_t task = 0; task < tasks.count(); ++task)
    for (std::int64_t which = 0; which <= settings.gets; ++which) {
      const Patch patch = tasks.patch(task, which);
      CHECK(patch.row >= 0 && patch.row + patch.rows <= settings.order);
      CHECK(patch.column >= 0 && patch.column + patch.columns <= settings.order);
      places.emplace(patch.row, patch.column);
    }
  CHECK(places.size() > 80U);  // of 120, at 361 possible positions
}

TEST(what_tasks_are_said_to_contribute_is_what_adding_them_up_gives) {
  for (const std::int64_t gets : {1, 2, 3}) {
    Settings settings = small();
    settings.gets = gets;
    const Tasks tasks(settings);
    std::uint64_t sum = 0;
    for (std::int64_t task = 0; task < tasks.count(); ++task) sum += tasks.contribution(task);
    CHECK_EQ(sum, checksum_by_hand(settings));
  }
}

TEST(another_seed_gives_another_checksum) {
  Settings other = small();
  other.seed = 2;
  CHECK(checksum_by_hand(small()) != checksum_by_hand(other));
}

TEST(computing_gives_whole_numbers_back_after_any_number_of_rounds) {
  std::vector<double> values;
  for (int i = 0; i < 1500; ++i) values.push_back(i * 12345.0 + 1);
  const std::vector<double> before = values;
  for (const std::int64_t rounds : {0, 1, 7, 1000}) {
    crosscut::program::compute(values, rounds);
    CHECK(values == before);
  }
}

TEST(rounds_make_the_operations_that_were_asked_for) {
  Settings settings = small();
  settings.operations_per_byte = 10;
  const double fetched_bytes = 2 * 5 * 5 * 8;
  CHECK_EQ(settings.operations_per_task(), 10 * fetched_bytes);
}

TEST(every_rank_has_one_role_and_pairs_know_one_another) {
  for (const Arrangement arrangement : {Arrangement::pairs, Arrangement::halves})
    for (const int ranks : {2, 4, 10}) {
      const Roles roles(ranks, arrangement);
      CHECK_EQ(roles.pairs(), ranks / 2);
      std::set<int> seen;
      for (int pair = 0; pair < roles.pairs(); ++pair) {
        CHECK(!roles.serves(roles.computing_rank(pair)));
        CHECK(roles.serves(roles.serving_rank(pair)));
        CHECK_EQ(roles.index(roles.computing_rank(pair)), pair);
        CHECK_EQ(roles.index(roles.serving_rank(pair)), pair);
        seen.insert(roles.computing_rank(pair));
        seen.insert(roles.serving_rank(pair));
      }
      CHECK_EQ(seen.size(), static_cast<std::size_t>(ranks));
    }
  CHECK(Roles(4, Arrangement::pairs).serves(1));
  CHECK(!Roles(4, Arrangement::halves).serves(1));
}
