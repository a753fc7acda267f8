// The checker finds every mistake that it promises to find: each test breaks a sound program in one way.
#include <functional>

#include "tests/check.hpp"
#include "tests/checking/check_program.hpp"

using namespace crosscut;
using namespace crosscut::program;

namespace {

using Emit = std::function<void(Rank, std::vector<Op>&)>;

class MadePhase final : public Phase {
 public:
  explicit MadePhase(const Emit& make) : make_(make) {}
  void emit(Rank rank, std::vector<Op>& ops) const override { make_(rank, ops); }
  double credited_bytes(Rank) const override { return 0; }

 private:
  const Emit& make_;
};

class MadePattern final : public Pattern {
 public:
  explicit MadePattern(Emit make) : make_(std::move(make)) {}
  Extent extent(Rank, std::int64_t bytes) const override {
    return {.phases = 1,
            .slots = 2,
            .channels = 2,
            .send_bytes = 2 * bytes,
            .receive_bytes = 2 * bytes,
            .collectives = true};
  }
  std::vector<Rank> peers(Rank self, Rank) const override {
    if (self > 1) return {};
    return {1 - self};
  }
  std::unique_ptr<Phase> phase(Rank, std::int64_t, std::int64_t) const override {
    return std::make_unique<MadePhase>(make_);
  }

 private:
  Emit make_;
};

constexpr std::int64_t size = 100;

Op receive(Rank peer) { return {.kind = Op::Kind::receive, .peer = peer, .bytes = size, .slot = 0}; }
Op send(Rank peer) { return {.kind = Op::Kind::send, .peer = peer, .bytes = size}; }

// Two ranks exchange twice; `change` breaks the program.
std::string problem_of(const std::function<void(Rank, std::vector<Op>&)>& change) {
  const MadePattern pattern([&](Rank rank, std::vector<Op>& ops) {
    if (rank > 1) return;
    ops = {receive(1 - rank), send(1 - rank), receive(1 - rank), send(1 - rank)};
    ops[2].slot = 1;
    ops[2].offset = ops[3].offset = size;
    ops[2].after = ops[3].after = {0, 1};
    change(rank, ops);
  });
  return check_program(pattern, 3, size);
}

void check_finds(std::string_view part, const std::function<void(Rank, std::vector<Op>&)>& change) {
  const std::string problem = problem_of(change);
  CHECK_EQ(problem.find(part) == std::string::npos ? problem : part, part);
}

}  // namespace

TEST(a_sound_program_has_no_problem) {
  CHECK_EQ(problem_of([](Rank, std::vector<Op>&) {}), "");
}

TEST(operations_outside_the_extent_are_found) {
  check_finds("channel 2 outside", [](Rank, auto& ops) { ops[0].channel = ops[1].channel = 2; });
  check_finds("rail 1 outside", [](Rank, auto& ops) { ops[0].rail = ops[1].rail = 1; });
  check_finds("outside the buffer", [](Rank, auto& ops) { ops[3].offset = size + 1; });
  check_finds("slot 2 outside", [](Rank, auto& ops) { ops[2].slot = 2; });
  check_finds("slot 0 is used twice", [](Rank, auto& ops) { ops[2].slot = 0; });
  check_finds("peer is the rank itself", [](Rank rank, auto& ops) { ops[0].peer = rank; });
  check_finds("not among peers", [](Rank, auto& ops) { ops[0].peer = 2; });
  check_finds("is no rank", [](Rank, auto& ops) { ops[0].peer = 3; });
  check_finds("divisor", [](Rank, auto& ops) { ops[0].divisor = 0; });
}

TEST(collectives_that_do_not_meet_are_found) {
  const auto problem = [](const Emit& change) {
    const MadePattern pattern([&](Rank rank, std::vector<Op>& ops) {
      const Op one{.kind = Op::Kind::collective, .peer = 1 - rank, .bytes = size};
      ops = {one, one};
      ops[1].after = {0, -1};
      change(rank, ops);
    });
    return check_program(pattern, 2, size);
  };
  const auto check = [&](std::string_view part, const Emit& change) {
    const std::string found = problem(change);
    CHECK_EQ(found.find(part) == std::string::npos ? found : part, part);
  };
  CHECK_EQ(problem([](Rank, auto&) {}), "");
  check("rank 1 has 1 collectives instead of 2", [](Rank rank, auto& ops) {
    if (rank == 1) ops.pop_back();
  });
  check("another collective than that of rank 0", [](Rank rank, auto& ops) {
    if (rank == 1) ops[1].collective = Collective::broadcast;
  });
  check("beside the operation before it", [](Rank, auto& ops) { ops[1].after = {-1, -1}; });
  check_finds("adds outside the extent", [](Rank, auto& ops) { ops[0].adds = true; });
}

TEST(references_to_later_operations_are_found) {
  check_finds("not an earlier one", [](Rank, auto& ops) { ops[1].after[0] = 1; });
  check_finds("not an earlier one", [](Rank, auto& ops) { ops[1].since = 3; });
  check_finds("not an earlier one", [](Rank, auto& ops) { ops[1].after[1] = -2; });
}

TEST(unmatched_sends_and_receives_are_found) {
  check_finds("nobody receives", [](Rank rank, auto& ops) {
    if (rank == 0) ops.erase(ops.begin() + 2);
  });
  check_finds("nobody sends", [](Rank rank, auto& ops) {
    if (rank == 1) ops.pop_back();
  });
  check_finds("sends 100 bytes", [](Rank rank, auto& ops) {
    if (rank == 1) ops[2].bytes = 99;
  });
  check_finds("sends from offset 100", [](Rank rank, auto& ops) {
    if (rank == 1) ops[2].offset = 0;
  });
  check_finds("sends data of rank 0", [](Rank rank, auto& ops) {
    if (rank == 1) ops[2].origin = 1;
  });
}

TEST(a_deadlock_is_found) {
  // Both send first, and post the receive only when the send is matched.
  check_finds("deadlock", [](Rank, auto& ops) {
    std::swap(ops[0], ops[1]);
    ops[1].after = {0, -1};
  });
}

TEST(operations_of_a_lane_that_may_overtake_are_found) {
  check_finds("earlier on the same lane", [](Rank, auto& ops) {
    ops.push_back(ops[3]);
    ops[4].after = {-1, -1};
  });
}

TEST(simultaneous_receives_into_the_same_memory_are_found) {
  check_finds("receives over operation 0", [](Rank, auto& ops) {
    for (std::size_t i : {2u, 3u}) {
      ops[i].offset = size / 2;
      ops[i].after = {-1, -1};
    }
  });
}

TEST(forwarding_data_not_yet_received_is_found) {
  check_finds("may forward before", [](Rank, auto& ops) { ops[1].forwards = 0; });
  check_finds("forwards what is no receive", [](Rank, auto& ops) { ops[3].forwards = 1; });
  check_finds("did not bring", [](Rank, auto& ops) { ops[3].forwards = 0; });
}

TEST(a_phase_that_changes_is_found) {
  int calls = 0;
  check_finds("not the same when made again", [&](Rank rank, auto& ops) {
    if (rank == 0) ops[0].divisor = ++calls;
  });
}
