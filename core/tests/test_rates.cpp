// Max-min rates satisfy the definition of fairness, on tables like a network's and on random ones.
#include <set>

#include "base/error.hpp"
#include "networks/flow_set.hpp"
#include "tests/check.hpp"
#include "tests/flow_tables.hpp"

namespace {

using namespace crosscut;
using namespace crosscut::networks;
using namespace crosscut::tests;

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr std::uint64_t trials = 3000;

std::vector<double> solved(const std::vector<double>& capacities, const FlowTable& table) {
  std::vector<double> rates(table.flows());
  MaxMin(capacities).solve(table, rates);
  return rates;
}

bool near(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

}  // namespace

TEST(a_capacity_is_shared_evenly) {
  CHECK_EQ(solved({12}, table_of({{0}, {0}, {0}})), (std::vector<double>{4, 4, 4}));
}

TEST(capacity_that_one_flow_cannot_use_goes_to_the_others) {
  // Bertsekas and Gallager's example: the flow through both links gets the smaller share.
  CHECK_EQ(solved({10, 4}, table_of({{0}, {0, 1}, {1}})), (std::vector<double>{8, 2, 2}));
}

TEST(a_flow_s_own_capacity_limits_it_if_it_is_smaller) {
  CHECK_EQ(solved({10, 3, 20}, table_of({{0, 1}, {0, 2}})), (std::vector<double>{3, 7}));
}

TEST(a_use_that_occurs_twice_counts_twice) {
  CHECK_EQ(solved({12}, table_of({{0, 0}, {0}})), (std::vector<double>{4, 4}));
  CHECK_EQ(solved({12}, table_of({{0, 0}})), (std::vector<double>{6}));
}

TEST(flows_without_a_bound_are_infinitely_fast) {
  CHECK_EQ(solved({unbounded, 5}, table_of({{0}, {}, {0, 1}, {0, 0}})),
           (std::vector<double>{unbounded, unbounded, 5, unbounded}));
}

TEST(no_flows_and_no_capacities_are_fine) {
  CHECK_EQ(solved({}, table_of({})), std::vector<double>{});
  CHECK_EQ(solved({1, 2}, table_of({})), std::vector<double>{});
}

TEST(a_capacity_of_zero_stops_its_flows) {
  CHECK_EQ(solved({0, 7}, table_of({{0, 1}, {1}})), (std::vector<double>{0, 7}));
}

TEST(random_tables_are_solved_fairly) {
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    const auto made = random_table(seed);
    const auto table = made.table();
    CHECK_EQ(unfairness(made.capacities, table, solved(made.capacities, table)), "");
  }
}

TEST(the_check_of_fairness_finds_what_is_unfair) {
  const auto table = table_of({{0}, {0, 1}, {1}});
  const std::vector<double> capacities{10, 4};
  CHECK_EQ(unfairness(capacities, table, std::vector<double>{9, 2, 2}), "capacity 0 is exceeded");
  CHECK_EQ(unfairness(capacities, table, std::vector<double>{9, 1, 3}), "flow 1 could be faster");
  CHECK_EQ(unfairness(capacities, table, std::vector<double>{7, 2, 2}), "flow 0 could be faster");
}

TEST(a_reused_solver_gives_identical_results) {
  const auto a = random_table(1);
  MaxMin solver(a.capacities);
  const auto table = a.table();
  std::vector<double> first(table.flows()), again(table.flows()), empty;
  solver.solve(table, first);
  solver.solve(FlowTable{}, empty);
  solver.solve(table, again);
  CHECK_EQ(first, again);
}

TEST(every_named_bottleneck_is_one) {
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    const auto made = random_table(seed);
    const auto table = made.table();
    std::vector<double> rates(table.flows());
    MaxMin solver(made.capacities);
    solver.solve(table, rates);
    for (std::size_t flow = 0; flow < table.flows(); ++flow) {
      const auto named = solver.bottlenecks()[flow];
      if (named < 0) {
        CHECK(std::isinf(rates[flow]));
        continue;
      }
      double load = 0, fastest = 0;
      for (std::size_t other = 0; other < table.flows(); ++other)
        for (const auto use : table.row(other))
          if (use == named) load += rates[other], fastest = std::max(fastest, rates[other]);
      CHECK(near(load, made.capacities[static_cast<std::size_t>(named)]) && near(fastest, rates[flow]));
    }
  }
}

TEST(a_flow_of_weight_two_gets_twice_the_share) {
  std::vector<double> rates(2);
  const std::vector<double> capacities{12};
  MaxMin(capacities).solve(table_of({{0}, {0}}), rates, std::vector<double>{1, 2});
  CHECK_EQ(rates, (std::vector<double>{4, 8}));
}

// A flow of weight w gets the rate of w flows of weight 1 on its route.
TEST(a_weight_stands_for_that_many_flows) {
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    const auto made = random_table(seed);
    Random random(seed + 7);
    std::vector<double> weights;
    std::vector<std::vector<std::int32_t>> copies;
    for (const auto& row : made.rows) {
      weights.push_back(static_cast<double>(1 + random.below(4)));
      copies.insert(copies.end(), static_cast<std::size_t>(weights.back()), row);
    }
    std::vector<double> rates(made.rows.size());
    MaxMin(made.capacities).solve(made.table(), rates, weights);
    const auto expected = solved(made.capacities, table_of(copies));
    std::size_t copy = 0;
    for (std::size_t flow = 0; flow < rates.size(); ++flow) {
      double sum = 0;
      for (auto left = static_cast<int>(weights[flow]); left > 0; --left) sum += expected[copy++];
      // All copies share the flow's own capacity.
      CHECK(near(rates[flow], sum));
    }
  }
}

TEST(flows_that_come_and_go_with_weights_have_the_rates_of_a_new_solve) {
  for (std::uint64_t seed = 0; seed < trials / 10; ++seed) {
    const auto made = random_table(seed);
    const auto table = made.table();
    Random random(seed + 3);
    std::vector<double> weights;
    for (std::size_t flow = 0; flow < table.flows(); ++flow)
      weights.push_back(0.25 + static_cast<double>(random.below(1000)) / 100);
    FlowSet flows(made.capacities);
    flows.start(table, weights);
    std::set<std::int32_t> active;
    for (int step = 0; step < 20 && table.flows() > 0; ++step) {
      const auto flow = static_cast<std::int32_t>(random.below(table.flows()));
      active.contains(flow) ? (active.erase(flow), flows.remove(flow))
                            : (active.insert(flow), flows.add(flow));
      flows.update();
      std::vector<std::vector<std::int32_t>> rows;
      std::vector<double> its_weights;
      for (const auto one : active) {
        rows.push_back(made.rows[static_cast<std::size_t>(one)]);
        its_weights.push_back(weights[static_cast<std::size_t>(one)]);
      }
      std::vector<double> rates(rows.size());
      MaxMin(made.capacities).solve(table_of(rows), rates, its_weights);
      std::size_t i = 0;
      for (const auto one : active) CHECK(near(flows.rate(one), rates[i++]));
    }
  }
}

TEST(the_order_of_flows_and_capacities_does_not_matter) {
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    const auto made = random_table(seed);
    const auto before = solved(made.capacities, made.table());
    Random random(seed + 1);
    std::vector<std::int32_t> capacity_order, flow_order;
    for (std::size_t i = 0; i < made.capacities.size(); ++i)
      capacity_order.push_back(static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i < made.rows.size(); ++i) flow_order.push_back(static_cast<std::int32_t>(i));
    random.shuffle(capacity_order);
    random.shuffle(flow_order);
    auto moved = made;
    for (std::size_t i = 0; i < made.capacities.size(); ++i)
      moved.capacities[static_cast<std::size_t>(capacity_order[i])] = made.capacities[i];
    for (std::size_t i = 0; i < made.rows.size(); ++i) {
      auto& row = moved.rows[static_cast<std::size_t>(flow_order[i])];
      row.clear();
      for (const auto use : made.rows[i]) row.push_back(capacity_order[static_cast<std::size_t>(use)]);
      random.shuffle(row);
    }
    const auto after = solved(moved.capacities, moved.table());
    for (std::size_t i = 0; i < before.size(); ++i)
      CHECK(near(before[i], after[static_cast<std::size_t>(flow_order[i])]));
  }
}

TEST(rates_scale_with_the_capacities) {
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    auto made = random_table(seed);
    const auto before = solved(made.capacities, made.table());
    for (auto& capacity : made.capacities) capacity *= 3.7;
    const auto after = solved(made.capacities, made.table());
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(near(before[i] * 3.7, after[i]));
  }
}

// This holds for sorted rates, not for each flow: a faster flow may slow another down.
TEST(with_more_capacity_the_slowest_flow_is_not_slower) {
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    auto made = random_table(seed);
    if (made.rows.empty()) continue;
    auto before = solved(made.capacities, made.table());
    Random random(seed);
    auto& grown = made.capacities[static_cast<std::size_t>(random.below(made.capacities.size()))];
    grown *= 1.5;
    auto after = solved(made.capacities, made.table());
    std::ranges::sort(before);
    std::ranges::sort(after);
    // Max-min rates are lexicographically largest among all feasible ones, so more capacity never lowers
    // them.
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (near(before[i], after[i])) continue;
      CHECK(after[i] > before[i]);
      break;
    }
  }
}

TEST(flows_that_come_and_go_have_the_rates_of_a_fresh_solve) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto made = random_table(seed);
    const auto table = made.table();
    FlowSet set(made.capacities);
    set.start(table);
    Random random(seed);
    std::vector<bool> active(table.flows());
    for (int step = 0; step < 20 && table.flows() > 0; ++step) {
      for (auto changes = 1 + random.below(4); changes > 0; --changes) {
        const auto flow = static_cast<std::size_t>(random.below(table.flows()));
        active[flow] ? set.remove(static_cast<FlowSet::Flow>(flow))
                     : set.add(static_cast<FlowSet::Flow>(flow));
        active[flow] = !active[flow];
      }
      set.update();
      std::vector<std::vector<std::int32_t>> rows;
      for (std::size_t i = 0; i < table.flows(); ++i)
        if (active[i]) rows.push_back(made.rows[i]);
      const auto fresh = solved(made.capacities, table_of(rows));
      for (std::size_t i = 0, k = 0; i < table.flows(); ++i)
        if (active[i]) CHECK(near(set.rate(static_cast<FlowSet::Flow>(i)), fresh[k++]));
    }
  }
}

TEST(equal_flows_that_leave_the_fastest_first_need_one_solve) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto made = random_table(seed);
    const auto table = made.table();
    FlowSet set(made.capacities);
    set.start(table);
    for (std::size_t i = 0; i < table.flows(); ++i) set.add(static_cast<FlowSet::Flow>(i));
    set.update();
    std::vector<FlowSet::Flow> order;
    for (std::size_t i = 0; i < table.flows(); ++i) order.push_back(static_cast<FlowSet::Flow>(i));
    std::ranges::sort(order, std::greater{}, [&](FlowSet::Flow flow) { return set.rate(flow); });
    for (std::size_t i = 0; i < order.size();) {
      const auto rate = set.rate(order[i]);
      for (; i < order.size() && set.rate(order[i]) == rate; ++i) set.remove(order[i]);
      set.update();
    }
    CHECK(set.solves() <= 1);
  }
}

TEST(only_connected_flows_are_solved_again) {
  const std::vector<double> capacities{10, 10, 10};
  const auto table = table_of({{0}, {0}, {1}, {1, 2}, {2}});
  FlowSet set(capacities);
  set.start(table);
  for (const FlowSet::Flow flow : {0, 2, 3, 4}) set.add(flow);
  CHECK_EQ(set.update().size(), 4);
  set.add(1);
  const auto updated = set.update();
  const std::set<FlowSet::Flow> changed(updated.begin(), updated.end());
  CHECK(updated.size() == 2 && changed == (std::set<FlowSet::Flow>{0, 1}));
  set.remove(4);
  CHECK_EQ(set.update().size() <= 2, true);
  CHECK_EQ(set.rate(2), 5);
}
