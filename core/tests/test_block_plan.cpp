// The order in which a size is measured, what a resume leaves out, and when repetition stops.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "conduct/block_plan.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::conduct;
using namespace crosscut::store;

namespace {

constexpr std::int64_t ranks = 3;

// A run in memory: which cells are done, and how long each took.
class MemoryStore final : public Store {
 public:
  MemoryStore(std::int64_t phases, std::int64_t cap, std::int64_t chunk_phases,
              std::int64_t chunk_repetitions)
      : phases_(phases), cap_(cap), chunk_phases_(chunk_phases), chunk_repetitions_(chunk_repetitions) {}

  using Cell = std::pair<std::int64_t, std::int64_t>;  // repetition, phase
  std::map<Cell, std::vector<double>> cells;           // rank_seconds of done cells
  bool summed = false;
  mutable int read_back = 0;

  void commit(const BlockData&) override {}
  Kept kept() const override { return summed ? Kept::summaries : Kept::samples; }
  std::vector<bool> done(const Block& block) const override {
    std::vector<bool> all;
    for (auto r = block.repetition_first; r < block.repetition_end; ++r)
      for (auto p = block.phase_first; p < block.phase_end; ++p) all.push_back(cells.contains({r, p}));
    return all;
  }
  std::int64_t iterations(std::int32_t) const override { return 1; }
  void set_iterations(std::int32_t, std::int64_t) override {}
  void set_repetitions_done(std::int32_t, std::span<const std::int64_t>) override {}
  std::vector<double> read_rank_seconds(const Block& block) const override {
    ++read_back;
    std::vector<double> all;
    for (auto r = block.repetition_first; r < block.repetition_end; ++r)
      for (auto p = block.phase_first; p < block.phase_end; ++p)
        for (const double seconds : cells.at({r, p})) all.push_back(seconds);
    return all;
  }
  Block largest_block(std::int32_t size_index, std::int64_t repetition, std::int64_t phase) const override {
    const auto end = [](std::int64_t at, std::int64_t chunk, std::int64_t limit) {
      return std::min(limit, (at / chunk + 1) * chunk);
    };
    return {size_index, phase, end(phase, chunk_phases_, phases_), repetition,
            summed ? cap_ : end(repetition, chunk_repetitions_, cap_)};
  }
  const json::Value& attributes() const override { return attributes_; }
  void set_attributes(const json::Object&) override {}
  void finish(std::string_view, const json::Object&) override {}

 private:
  json::Value attributes_;
  std::int64_t phases_, cap_, chunk_phases_, chunk_repetitions_;
};

double steady(MemoryStore::Cell) { return 0.01; }

BlockData measured(const Block& block, double (*seconds)(MemoryStore::Cell)) {
  BlockData data;
  data.block = block;
  for (auto r = block.repetition_first; r < block.repetition_end; ++r)
    for (auto p = block.phase_first; p < block.phase_end; ++p)
      for (std::int64_t rank = 0; rank < ranks; ++rank)
        data.rank_seconds.push_back(rank == 1 ? seconds({r, p}) : std::nan(""));
  return data;
}

// Measures all that the plan requests. Returns the blocks in order.
std::vector<Block> measure(BlockPlan& plan, MemoryStore& store, double phase_seconds,
                           double (*seconds)(MemoryStore::Cell) = steady) {
  std::vector<Block> blocks;
  while (const auto block = plan.next(phase_seconds)) {
    REQUIRE(blocks.size() < 10'000);
    const auto largest = store.largest_block(0, block->repetition_first, block->phase_first);
    CHECK(block->phase_first < block->phase_end && block->phase_end <= largest.phase_end);
    CHECK(block->repetition_first < block->repetition_end && block->repetition_end <= largest.repetition_end);
    const BlockData data = measured(*block, seconds);
    std::size_t at = 0;
    for (auto r = block->repetition_first; r < block->repetition_end; ++r)
      for (auto p = block->phase_first; p < block->phase_end; ++p, at += ranks) {
        const auto* first = data.rank_seconds.data() + at;
        CHECK(store.cells.emplace(MemoryStore::Cell(r, p), std::vector(first, first + ranks)).second);
      }
    plan.remember(data, false);
    blocks.push_back(*block);
  }
  return blocks;
}

}  // namespace

TEST(every_cell_is_measured_once_repetition_by_repetition) {
  for (const std::int64_t phases : {1, 2, 7, 64})
    for (const std::int64_t chunk : {1, 3, 100})
      for (const double phase_seconds : {0.0, 1e-6, 0.1, 10.0}) {
        MemoryStore store(phases, 9, chunk, chunk >= phases ? 4 : 1);
        BlockPlan plan(store, 0, phases, ranks, {.minimum = 6, .cap = 9});
        const auto blocks = measure(plan, store, phase_seconds);
        CHECK_EQ(store.cells.size(), static_cast<std::size_t>(phases * 9));
        CHECK(std::ranges::is_sorted(blocks, {}, [](const Block& block) {
          return std::pair(block.repetition_first, block.phase_first);
        }));
        for (const auto count : plan.repetitions_done()) CHECK_EQ(count, 9);
        CHECK_EQ(plan.cells_left(), 0);
      }
}

TEST(a_block_takes_about_a_second_by_the_latest_estimate) {
  MemoryStore store(100, 20, 100, 20);
  BlockPlan plan(store, 0, 100, ranks, {.minimum = 6, .cap = 20});
  CHECK_EQ(plan.next(0)->phase_end, 1);            // nothing known: one phase
  CHECK_EQ(plan.next(0.1)->phase_end, 10);         // ten phases per second
  CHECK_EQ(plan.next(5)->phase_end, 1);            // never less than one
  CHECK_EQ(plan.next(0.001)->repetition_end, 10);  // a thousand phases: ten repetitions of a hundred
  CHECK_EQ(plan.next(1e-6)->repetition_end, 20);
}

TEST(a_resume_measures_only_the_holes) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 50; ++trial) {
    MemoryStore store(11, 6, trial % 2 == 0 ? 4 : 11, trial % 2 == 0 ? 1 : 3);
    for (std::int64_t r = 0; r < 6; ++r)
      for (std::int64_t p = 0; p < 11; ++p)
        if (random() % 3 != 0) store.cells[{r, p}] = {1, 1, 1};
    BlockPlan plan(store, 0, 11, ranks, {.minimum = 6, .cap = 6});
    measure(plan, store, 1e-3);  // measuring a cell twice fails
    CHECK_EQ(store.cells.size(), 66);
    for (const auto count : plan.repetitions_done()) CHECK_EQ(count, 6);
  }
}

TEST(a_complete_run_has_no_block_left) {
  MemoryStore store(3, 2, 3, 2);
  for (std::int64_t r = 0; r < 2; ++r)
    for (std::int64_t p = 0; p < 3; ++p) store.cells[{r, p}] = {1, 1, 1};
  BlockPlan plan(store, 0, 3, ranks, {.minimum = 1, .cap = 2});
  CHECK(!plan.next(1e-3));
  CHECK_EQ(plan.cells_left(), 0);
}

TEST(repetition_stops_when_the_median_of_every_phase_is_known_well) {
  MemoryStore store(4, 50, 4, 50);
  BlockPlan plan(store, 0, 4, ranks, {.minimum = 6, .cap = 50, .interval = 0.05});
  measure(plan, store, 1e-6);
  CHECK_EQ(store.cells.size(), 4 * 6);
  CHECK_EQ(plan.repetitions_done()[0], 6);
}

TEST(repetition_goes_on_to_the_cap_while_one_phase_varies) {
  MemoryStore store(4, 40, 4, 40);
  BlockPlan plan(store, 0, 4, ranks, {.minimum = 6, .cap = 40, .interval = 0.05});
  measure(plan, store, 1e-6,
          [](MemoryStore::Cell cell) { return cell.second == 2 && cell.first % 2 == 0 ? 0.02 : 0.01; });
  CHECK_EQ(store.cells.size(), 4 * 40);
}

TEST(a_phase_without_timed_ranks_does_not_prolong_repetition) {
  MemoryStore store(2, 40, 2, 40);
  BlockPlan plan(store, 0, 2, ranks, {.minimum = 6, .cap = 40, .interval = 0.05});
  measure(plan, store, 1e-6, [](MemoryStore::Cell cell) { return cell.second == 1 ? std::nan("") : 0.01; });
  CHECK_EQ(store.cells.size(), 2 * 6);
}

TEST(after_a_resume_earlier_repetitions_count) {
  MemoryStore store(2, 40, 2, 40);
  for (std::int64_t r = 0; r < 5; ++r)
    for (std::int64_t p = 0; p < 2; ++p) store.cells[{r, p}] = {0.01, 0.01, 0.01};
  BlockPlan plan(store, 0, 2, ranks, {.minimum = 6, .cap = 40, .interval = 0.05});
  measure(plan, store, 1e-6);
  CHECK_EQ(store.cells.size(), 2 * 6);
  CHECK_EQ(store.read_back, 5);
}

TEST(cells_that_failed_with_a_lost_rank_are_not_tried_again) {
  MemoryStore store(5, 3, 5, 3);
  BlockPlan plan(store, 0, 5, ranks, {.minimum = 3, .cap = 3});
  std::set<MemoryStore::Cell> tried;
  for (int blocks = 0; const auto block = plan.next(0.4); ++blocks) {
    REQUIRE(blocks < 100);
    for (auto r = block->repetition_first; r < block->repetition_end; ++r)
      for (auto p = block->phase_first; p < block->phase_end; ++p)
        CHECK(tried.insert(MemoryStore::Cell(r, p)).second);
    plan.remember(measured(*block, steady), true);  // the store has none of it
  }
  CHECK_EQ(tried.size(), 15);
}

TEST(with_summaries_a_phase_is_finished_before_the_next_begins) {
  MemoryStore store(6, 8, 2, 8);
  store.summed = true;
  BlockPlan plan(store, 0, 6, ranks, {.minimum = 8, .cap = 8});
  const auto blocks = measure(plan, store, 0.2);
  CHECK_EQ(store.cells.size(), 6 * 8);
  CHECK(std::ranges::is_sorted(
      blocks, {}, [](const Block& block) { return std::pair(block.phase_first, block.repetition_first); }));
  CHECK_EQ(plan.repetitions_done()[5], 8);
}

TEST(with_summaries_a_phase_that_a_lost_rank_failed_is_not_measured_again) {
  MemoryStore store(5, 6, 2, 6);
  store.summed = true;
  BlockPlan plan(store, 0, 5, ranks, {.minimum = 6, .cap = 6});
  std::map<MemoryStore::Cell, int> times;
  bool lost = false;
  for (int blocks = 0; const auto block = plan.next(0.5); ++blocks) {
    REQUIRE(blocks < 100);
    lost = lost || blocks >= 4;  // in the middle of the first two phases
    const auto data = measured(*block, steady);
    for (auto r = block->repetition_first; r < block->repetition_end; ++r)
      for (auto p = block->phase_first; p < block->phase_end; ++p) {
        ++times[{r, p}];
        store.cells[{r, p}] = {1, 1, 1};  // held in memory until the last repetition
        if (lost && r == 5)
          std::erase_if(store.cells, [p](const auto& cell) { return cell.first.second == p; });
      }
    plan.remember(data, lost);
  }
  CHECK_EQ(times.size(), 5 * 6);
  for (const auto& [cell, count] : times) CHECK_EQ(count, 1);
  CHECK_EQ(plan.repetitions_done()[4], 6);
  CHECK_EQ(plan.cells_left(), 0);
}

TEST(the_largest_passes_over_ranks_without_a_message) {
  CHECK_EQ(largest_of(std::vector<double>{std::nan(""), 2, 1}), 2.0);
  CHECK(std::isnan(largest_of(std::vector<double>{std::nan("")})));
  CHECK(std::isnan(largest_of({})));
}
