// Programs prepared to run: dependencies, memory, and what remains of them when ranks are lost.
#include <algorithm>

#include "base/error.hpp"
#include "measure/schedule.hpp"
#include "program/in_flight.hpp"
#include "tests/check.hpp"
#include "tests/checking/rehearsal.hpp"
#include "tests/pattern_cases.hpp"

using namespace crosscut;
using namespace crosscut::measure;
using namespace crosscut::program;
using namespace crosscut::tests;

namespace {

Given lighter(std::string_view name) {
  if (name == "loaded-pingpong") return {{"messages", "12"}};
  if (name == "congestor") return {{"load", "200KB"}, {"pings", "5"}};
  if (name == "chain") return {{"segment", "100"}};
  return {};
}

std::unique_ptr<Pattern> light_pattern(std::string_view name, Rank ranks) {
  try {
    auto pattern = make_pattern(name, lighter(name));
    if (pattern->refuse(ranks).empty()) return pattern;
  } catch (const UsageError&) {  // it has a required parameter
  }
  return nullptr;
}

bool is_lost(const std::vector<Rank>& lost, Rank rank) {
  return std::binary_search(lost.begin(), lost.end(), rank);
}

// Checks the programs of the surviving ranks. Empty: no mistake.
std::string check_survivors(const Pattern& pattern, Rank ranks, std::int64_t phase,
                            const std::vector<Rank>& lost) {
  Programs programs;
  for (Rank rank = 0; rank < ranks; ++rank) {
    const auto schedule = make_schedule(pattern, rank, ranks, 1000, phase, lost);
    const auto whole = make_schedule(pattern, rank, ranks, 1000, phase, {});
    if (schedule.skipped != (schedule.ops.size() < whole.ops.size())) return "skipped is not what it says";
    if (is_lost(lost, rank) && !schedule.ops.empty()) return "a lost rank has operations";
    for (const Op& op : schedule.ops)
      if (is_lost(lost, op.peer)) return at_operation(rank, 0, "its partner is lost");
    programs.push_back(schedule.ops);
  }
  const std::string problem = check_matching(programs);
  return problem.empty() ? check_completion(programs, 1) : problem;
}

void check_losses(const std::vector<Rank>& lost, Rank ranks) {
  for (const PatternInfo* info : patterns()) {
    const auto pattern = light_pattern(info->name, ranks);
    if (pattern == nullptr) continue;
    const auto phases = pattern->extent(ranks, 1000).phases;
    for (std::int64_t phase = 0; phase < phases; phase += std::max<std::int64_t>(1, phases / 10)) {
      const std::string where = std::string(info->name) + ", phase " + std::to_string(phase) + ": ";
      CHECK_EQ(where + check_survivors(*pattern, ranks, phase, lost), where);
    }
  }
}

}  // namespace

TEST(with_any_one_rank_lost_the_others_still_meet_and_finish) {
  for (Rank lost = 0; lost < 9; ++lost) check_losses({lost}, 9);
}

TEST(with_two_ranks_lost_the_others_still_meet_and_finish) {
  for (Rank lost = 1; lost < 8; ++lost) check_losses({lost - 1, lost}, 8);
  check_losses({2, 5}, 8);
}

TEST(with_all_but_two_ranks_lost_the_two_still_meet_and_finish) { check_losses({1, 2, 4, 5, 6, 7}, 8); }

TEST(a_loss_removes_only_dependent_operations) {
  const auto pattern = make_pattern("aapc");
  for (Rank rank = 0; rank < 6; ++rank) {
    if (rank == 2) continue;
    std::size_t kept = 0;
    for (std::int64_t phase = 0; phase < pattern->extent(6, 10).phases; ++phase)
      kept += make_schedule(*pattern, rank, 6, 10, phase, std::vector<Rank>{2}).ops.size();
    CHECK_EQ(kept, 8);  // a send to and a receive from each of the four other survivors
  }
}

TEST(a_broken_chain_still_serves_the_ranks_before_the_break) {
  const auto pattern = make_pattern("chain", {{"segment", "100"}});
  const std::vector<Rank> lost{3};
  const auto count = [&](Rank rank) { return make_schedule(*pattern, rank, 5, 1000, 0, lost).ops.size(); };
  CHECK(count(0) > 0 && count(1) > 0 && count(2) > 0);
  CHECK_EQ(count(3), 0);
  CHECK_EQ(count(4), 0);  // its data never arrive
}

TEST(dependencies_are_counted_and_lead_from_each_operation_to_its_successors) {
  for (const PatternInfo* info : patterns()) {
    const auto pattern = light_pattern(info->name, 6);
    if (pattern == nullptr) continue;
    for (Rank rank = 0; rank < 6; ++rank) {
      const auto schedule = make_schedule(*pattern, rank, 6, 1000, 0, {});
      std::vector<std::int32_t> seen(schedule.ops.size());
      for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
        for (auto k = schedule.first_dependent[i]; k < schedule.first_dependent[i + 1]; ++k) {
          const auto later = schedule.dependents[static_cast<std::size_t>(k)];
          const auto& after = schedule.ops[static_cast<std::size_t>(later)].after;
          CHECK(std::ranges::find(after, static_cast<OpIndex>(i)) != after.end());
          ++seen[static_cast<std::size_t>(later)];
        }
      }
      CHECK(seen == schedule.waits_for);
      for (const OpIndex root : schedule.roots)
        CHECK_EQ(schedule.waits_for[static_cast<std::size_t>(root)], 0);
      CHECK_EQ(schedule.roots.size(), std::ranges::count(schedule.waits_for, 0));
    }
  }
}

TEST(a_pingpong_is_linear_and_an_exchange_is_not) {
  CHECK(make_schedule(*make_pattern("pingpong"), 0, 2, 100, 0, {}).linear);
  CHECK(!make_schedule(*make_pattern("aapc"), 0, 4, 100, 0, {}).linear);
}

TEST(memory_lies_within_the_buffers_and_receives_apart_do_not_overlap) {
  for (const PatternInfo* info : patterns()) {
    for (const auto& [window, rails] : {std::pair{1, 1}, {4, 1}, {1, 3}, {4, 2}}) {
      if (light_pattern(info->name, 6) == nullptr) continue;
      const auto pattern = in_flight(light_pattern(info->name, 6), window, rails);
      const Extent extent = pattern->extent(6, 1000);
      std::vector<std::byte> send(static_cast<std::size_t>(extent.send_bytes) + 1);
      for (Rank rank = 0; rank < 6; ++rank) {
        auto schedule = make_schedule(*pattern, rank, 6, 1000, 0, {});
        std::vector<std::byte> apart(bytes_apart(schedule) + 1);
        assign_memory(schedule, {send, {}, apart});
        const std::byte* end = apart.data();
        for (std::size_t i = 0; i < schedule.messages.size(); ++i) {
          const Op& op = schedule.messages[i];
          if (op.kind == Op::Kind::receive) {
            CHECK(schedule.data[i] >= end);
            end = schedule.data[i] + op.bytes;
          } else if (op.forwards >= 0) {
            // The bytes of the same place in the messages that brought them.
            const auto brought =
                static_cast<std::size_t>(schedule.first_message[static_cast<std::size_t>(op.forwards)]);
            CHECK(schedule.data[i] ==
                  schedule.data[brought] + (op.offset - schedule.messages[brought].offset));
          } else {
            CHECK(schedule.data[i] == send.data() + op.offset);
          }
        }
        CHECK(end <= apart.data() + apart.size());
      }
    }
  }
}

TEST(a_window_s_messages_lie_behind_one_another) {
  const auto pattern = in_flight(make_pattern("aapc"), 3);
  CHECK_EQ(pattern->extent(4, 100).receive_bytes, 300);
  auto schedule = make_schedule(*pattern, 0, 4, 100, 0, {});
  std::vector<std::byte> send(300), receive(300);
  assign_memory(schedule, {send, receive, {}});
  REQUIRE(schedule.messages.size() == 6);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(schedule.data[i] == receive.data() + 100 * i);
    CHECK(schedule.data[i + 3] == send.data() + 100 * i);
    CHECK_EQ(schedule.op_of[i], 0);
    CHECK_EQ(schedule.op_of[i + 3], 1);
  }
  CHECK(!make_schedule(*in_flight(make_pattern("pingpong"), 2), 0, 2, 100, 0, {}).linear);
}

TEST(the_rails_parts_of_a_message_cover_it_and_begin_on_cache_lines) {
  for (const std::int64_t bytes : {0, 1, 64, 65, 128, 1000, 1'000'003}) {
    for (const std::int32_t rails : {1, 2, 3, 64}) {
      const auto schedule = make_schedule(*in_flight(make_pattern("aapc"), 2, rails), 0, 4, bytes, 0, {});
      const Op& whole = schedule.ops[1];
      std::int64_t end = whole.offset;
      std::set<int> taken;
      const auto first = static_cast<std::size_t>(schedule.first_message[1]);
      for (std::size_t i = first; i < schedule.messages.size(); ++i) {
        const Op& part = schedule.messages[i];
        CHECK_EQ(part.offset, end);
        if (part.rail > 0) CHECK_EQ((part.offset - whole.offset) % bytes % 64, 0);
        end += part.bytes;
        taken.insert(part.rail);
      }
      CHECK_EQ(end, whole.offset + 2 * bytes);
      // Nothing shares a line between two rails.
      CHECK_EQ(std::ssize(taken), std::clamp<std::int64_t>((bytes + 63) / 64, 1, rails));
      CHECK_EQ(*taken.rbegin(), std::ssize(taken) - 1);
    }
  }
}

TEST(signals_take_one_rail_and_connections_are_those_of_the_parts) {
  const auto pattern = in_flight(make_pattern("message-rate"), 1, 2);
  std::vector<Schedule> schedules;
  schedules.push_back(make_schedule(*pattern, 0, 2, 1000, 0, {}));
  CHECK_EQ(schedules[0].messages.size(), std::size_t{3});  // two parts, and the answer
  CHECK(connections_of(schedules) == (std::vector<ConnectionId>{{1, 0, 0}, {1, 0, 1}}));
  CHECK(connections_of(*pattern, 0, 2, 1000) == connections_of(schedules));
  CHECK_EQ(connections_of(*pattern, 0, 2, 8).size(), std::size_t{1});
  CHECK(!schedules[0].linear);
}

TEST(a_window_beyond_any_memory_is_not_a_small_one) {
  const auto pattern = in_flight(make_pattern("aapc"), 10'000);
  CHECK(pattern->extent(4, std::int64_t{1} << 40).send_bytes >= std::int64_t{1} << 53);
  CHECK(pattern->extent(4, std::int64_t{1} << 62).send_bytes >= std::int64_t{1} << 60);
}

TEST(links_are_named_once_in_order) {
  const auto pattern = make_pattern("aapc");
  std::vector<Schedule> schedules;
  for (std::int64_t phase = 0; phase < 4; ++phase)
    for (int twice = 0; twice < 2; ++twice) schedules.push_back(make_schedule(*pattern, 2, 5, 10, phase, {}));
  const auto ids = connections_of(schedules);
  CHECK(std::ranges::is_sorted(ids));
  CHECK(std::ranges::adjacent_find(ids) == ids.end());
  CHECK_EQ(ids.size(), 4);
}
