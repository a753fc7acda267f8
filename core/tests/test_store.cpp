#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/error.hpp"
#include "store/layout.hpp"
#include "store/shard.hpp"
#include "store/summary.hpp"
#include "tests/check.hpp"
#include "tests/sample_run.hpp"
#include "tests/store_folder.hpp"

using namespace crosscut;
using namespace crosscut::store;
using namespace crosscut::tests;
TEST(chunks_hold_whole_phases_within_their_limit_and_tile_every_shape) {
  for (const std::int64_t phases : {1, 7, 63, 511, 65535})
    for (const std::int64_t repetitions : {1, 20, 200})
      for (const std::int64_t ranks : {2, 64, 512, 65536}) {
        const Shape shape{{1}, repetitions, phases, ranks, 2};
        const ChunkGrid grid = chunk_grid(shape, Kept::samples);
        const std::int64_t bytes = grid.chunk_phases * grid.chunk_repetitions * ranks * 2 * 8;
        CHECK(bytes <= largest_chunk_bytes || (grid.chunk_phases == 1 && grid.chunk_repetitions == 1));
        CHECK(grid.chunk_repetitions == 1 || grid.chunk_phases == phases);
        CHECK(grid.phase_chunks() * grid.chunk_phases >= phases);
        CHECK(grid.repetition_chunks() * grid.chunk_repetitions >= repetitions);
        CHECK((grid.phase_chunks() - 1) * grid.chunk_phases < phases);
      }
}

TEST(shapes_that_cannot_be_stored_are_refused) {
  CHECK_THROWS_SAYING(UsageError, "0 sizes", chunk_grid({{}, 1, 1, 2, 1}, Kept::samples));
  CHECK_THROWS_SAYING(UsageError, "0 phases", chunk_grid({{1}, 1, 0, 2, 1}, Kept::samples));
  CHECK_THROWS_SAYING(UsageError, "chunks", chunk_grid({{1}, 1'000'000, 100'000, 64, 1}, Kept::samples));
  CHECK_THROWS_SAYING(UsageError, "phases",
                      chunk_grid({{1}, 5, std::int64_t{1} << 62, 64, 1}, Kept::samples));
  CHECK_THROWS_SAYING(UsageError, "use at most 131072 repetitions or a larger --raw-budget",
                      chunk_grid({{1}, 1'000'000, 1, 64, 1}, Kept::summaries));
  // One repetition alone is too large.
  CHECK_THROWS_SAYING(UsageError, "in memory; use a larger --raw-budget",
                      chunk_grid({{1}, 100, 1, 3000, 3000}, Kept::summaries));
}

TEST(blocks_tile_the_run_and_what_is_committed_is_read_back) {
  // The second shape is cut by phases, the first by repetitions.
  for (const Shape& shape : {small, Shape{{10, 20}, 2, 11, 3000, 3}}) {
    const StoreFolder folder;
    const Store::Options options = sample::options(shape);
    const auto store = Store::create(folder / "run.zarr", options);
    for (std::int32_t size = 0; size < 2; ++size) {
      Block block = store->largest_block(size, 0, 0);
      do {
        CHECK(none(store->done(block)));
        const BlockData data = sample::data(options, block);
        store->commit(data);
        CHECK(all(store->done(block)));
        CHECK(store->read_rank_seconds(block) == data.rank_seconds);
      } while (sample::next_block(*store, shape, block));
      const Block whole{size, 0, shape.phases, 0, shape.repetitions};
      CHECK(all(store->done(whole)));
      CHECK(store->read_rank_seconds(whole) == sample::data(options, whole).rank_seconds);
    }
  }
}

TEST(a_block_smaller_than_a_chunk_leaves_its_neighbours_unmeasured_and_intact) {
  const StoreFolder folder;
  const Store::Options options = sample::options(small);
  const auto store = Store::create(folder / "run.zarr", options);
  const Block first{0, 2, 4, 1, 3}, second{0, 3, 7, 3, 5};
  store->commit(sample::data(options, first));
  store->commit(sample::data(options, second));
  CHECK(all(store->done(first)) && all(store->done(second)));
  CHECK(none(store->done({0, 0, 2, 0, 5})) && none(store->done({0, 2, 4, 0, 1})));
  CHECK(store->read_rank_seconds(first) == sample::data(options, first).rank_seconds);
  const std::vector<double> beside = store->read_rank_seconds({0, 0, 2, 0, 5});
  CHECK(std::ranges::all_of(beside, [](double value) { return std::isnan(value); }));
}

TEST(failed_cells_are_measured_again_and_skipped_ones_are_not) {
  const StoreFolder folder;
  const Store::Options options = sample::options(small);
  const auto store = Store::create(folder / "run.zarr", options);
  BlockData data = sample::data(options, {0, 0, 2, 0, 1});
  data.status[1] = Status::failed;
  data.status[4] = Status::skipped;
  store->commit(data);
  CHECK(store->done(data.block) == std::vector<bool>({false, true}));
}

TEST(a_directory_that_cannot_be_a_new_run_is_refused_by_name) {
  const StoreFolder folder;
  const Store::Options options = sample::options(small);
  overwrite(folder / "file", "x");
  CHECK_THROWS_SAYING(UsageError, "file is a file", Store::create(folder / "file", options));
  CHECK_THROWS_SAYING(RunError, "file/run: Not a directory", Store::create(folder / "file" / "run", options));
  fs::create_directory(folder / "full");
  overwrite(folder / "full" / "x", "x");
  CHECK_THROWS_SAYING(UsageError, "full is not empty", Store::create(folder / "full", options));
  fs::create_directory(folder / "empty");
  { const auto store = Store::create(folder / "empty", options); }
  CHECK_THROWS_SAYING(UsageError, "--resume", Store::create(folder / "empty", options));
  CHECK_THROWS_SAYING(UsageError, "nothing to resume", Store::resume(folder / "full", options, false));
}

TEST(remains_of_a_killed_creation_are_replaced_but_nothing_else_is_touched) {
  const StoreFolder folder;
  const Store::Options options = sample::options(small);
  const fs::path run = folder / "run";
  { const auto store = Store::create(run, options); }
  fs::rename(run / "zarr.json", run / "zarr.json.unfinished");  // killed just before the last rename
  { const auto store = Store::create(run, options); }
  CHECK(fs::exists(run / "zarr.json"));
  for (const char* stranger : {"notes.txt", "size/notes.txt", "peer/c/0/zarr.json.bak"}) {
    fs::remove(run / "zarr.json");
    fs::create_directories((run / stranger).parent_path());
    overwrite(run / stranger, "x");
    CHECK_THROWS_SAYING(UsageError, "is not empty", Store::create(run, options));
    CHECK(fs::exists(run / stranger));
    fs::remove(run / stranger);
    { const auto store = Store::create(run, options); }
  }
}

TEST(measurements_whose_run_lost_its_metadata_are_never_deleted) {
  const StoreFolder folder;
  const Store::Options options = sample::options(small);
  const fs::path run = folder / "run";
  {
    const auto store = Store::create(run, options);
    store->commit(sample::data(options, store->largest_block(0, 0, 0)));
  }
  fs::remove(run / "zarr.json");
  const auto count = [&] {
    return std::distance(fs::recursive_directory_iterator(run), fs::recursive_directory_iterator());
  };
  const auto before = count();
  CHECK_THROWS_SAYING(UsageError, "crosscut fsck", Store::create(run, options));
  CHECK_EQ(count(), before);
}

TEST(a_directory_without_permission_is_refused_with_the_cause) {
  if (::geteuid() == 0) {
    std::cout << "  skipped for root, who may write everywhere\n";
    return;
  }
  const StoreFolder folder;
  fs::create_directory(folder / "locked");
  ::chmod((folder / "locked").c_str(), 0500);
  CHECK_THROWS_SAYING(RunError, "Permission denied",
                      Store::create(folder / "locked" / "run", sample::options(small)));
  ::chmod((folder / "locked").c_str(), 0700);
}

TEST(a_second_writer_of_a_run_is_refused) {
  const StoreFolder folder;
  const auto store = Store::create(folder / "run.zarr", sample::options(small));
  CHECK_THROWS_SAYING(UsageError, "another process",
                      Store::resume(folder / "run.zarr", sample::options(small), true));
  std::ofstream(folder / "run.zarr" / "zarr.json") << "{";  // not read while it is locked
  CHECK_THROWS_SAYING(UsageError, "another process",
                      Store::resume(folder / "run.zarr", sample::options(small), true));
}

TEST(damaged_metadata_is_an_error_that_names_the_file) {
  const StoreFolder folder;
  const fs::path run = folder / "run.zarr";
  const Store::Options options = sample::options(small);
  { const auto store = Store::create(run, options); }
  const std::string good = text_of(run / "zarr.json");
  for (std::size_t length = 0; length < good.size() - 2; length += 97) {
    overwrite(run / "zarr.json", good.substr(0, length));
    CHECK_THROWS_SAYING(RunError, "zarr.json: line", Store::resume(run, options, false));
  }
  overwrite(run / "zarr.json", "[1]");
  CHECK_THROWS_SAYING(RunError, "no member \"attributes\"", Store::resume(run, options, false));
  overwrite(run / "zarr.json", good);
  replace_in(run / "zarr.json", "\"version\": 3", "\"version\": 4");
  CHECK_THROWS_SAYING(RunError, "newer crosscut (schema version 4", Store::resume(run, options, false));
  replace_in(run / "zarr.json", "\"crosscut-run\"", "\"else\"");
  CHECK_THROWS_SAYING(RunError, "not a run of crosscut", Store::resume(run, options, false));
}

TEST(summaries_are_exact) {
  std::vector<double> samples;
  for (int i = 1; i <= 200; ++i) samples.push_back((i * 37) % 200 + 1);
  CHECK(summarise(samples) == Summary({200, 1, 100.5, 198, 200}));
  std::vector<double> one{4};
  CHECK(summarise(one) == Summary({1, 4, 4, 4, 4}));
  CHECK_EQ(summarise({})[0], 0);
  CHECK(std::isnan(summarise({})[2]));
}

TEST(summaries_stand_for_all_repetitions_however_they_arrive) {
  const StoreFolder folder;
  Store::Options options = sample::options(small);
  options.kept = Kept::summaries;
  const auto store = Store::create(folder / "run.zarr", options);
  const auto arrive = [&](std::int32_t size, std::int64_t first, std::int64_t end) {
    store->commit(sample::data(options, {size, 0, 7, first, end}));
  };
  arrive(0, 0, 5);
  arrive(1, 0, 2);
  CHECK(all(store->done({1, 0, 7, 0, 2})) && none(store->done({1, 0, 7, 2, 5})));
  arrive(1, 2, 5);
  CHECK(all(store->done({0, 0, 7, 0, 5})) && all(store->done({1, 0, 7, 0, 5})));
  const std::string by_one = text_of(folder / "run.zarr" / "rank_summary/c/0/0/0/0");
  const std::string by_two = text_of(folder / "run.zarr" / "rank_summary/c/1/0/0/0");
  CHECK_EQ(by_one.size(), by_two.size());
  std::array<double, 5> first;  // behind the index of one chunk
  std::copy_n(by_two.data() + 16, sizeof first, reinterpret_cast<char*>(first.data()));
  const double least = 0.5 + sample::seconds_at(small, 1, 0, 0, 0, 0),
               most = 0.5 + sample::seconds_at(small, 1, 4, 0, 0, 0);
  CHECK(first == std::array<double, 5>{5, least, (least + most) / 2, most, most});
}

TEST(an_adaptive_phase_of_fewer_repetitions_is_summed_up_when_its_count_is_set) {
  const StoreFolder folder;
  const fs::path run = folder / "run.zarr";
  Store::Options options = sample::options(small);
  options.kept = Kept::summaries;
  {
    const auto store = Store::create(run, options);
    store->commit(sample::data(options, {0, 0, 7, 0, 3}));
    store->set_repetitions_done(0, std::vector<std::int64_t>(7, 3));
    store->commit(sample::data(options, {1, 0, 7, 0, 3}));  // lost: the run ends before its count is stored
  }
  const auto store = Store::resume(run, options, false);
  CHECK(all(store->done({0, 0, 7, 0, 5})));
  CHECK(none(store->done({1, 0, 7, 0, 5})));
}

TEST(summaries_of_many_samples_are_those_of_the_sorted_ones) {
  std::uint64_t state = 1;
  for (std::size_t n = 1; n < 300; n += 7) {
    for (const std::uint64_t distinct : {std::uint64_t{3}, std::uint64_t{1'000'000}}) {
      std::vector<double> samples;
      for (std::size_t i = 0; i < n; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        samples.push_back(static_cast<double>((state >> 33) % distinct));
      }
      auto sorted = samples;
      std::ranges::sort(sorted);
      const double p99 = sorted[static_cast<std::size_t>(std::ceil(static_cast<double>(99 * n) / 100)) - 1];
      CHECK(summarise(samples) == Summary({static_cast<double>(n), sorted.front(),
                                           (sorted[(n - 1) / 2] + sorted[n / 2]) / 2, p99, sorted.back()}));
    }
  }
}

TEST(a_phase_is_summed_up_over_the_ranks_that_were_measured) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const std::array messages{3.0, none, 1.0, 2.0, 9.0, 9.0};
  const std::array ranks{4.0, 5.0, 9.0};
  std::array status{Status::measured, Status::measured, Status::failed};
  const PhaseSummary phase = summarise_phase(messages, ranks, status, 70);
  CHECK(phase.messages == Summary({3, 1, 2, 3, 3}) && phase.ranks == Summary({2, 4, 4.5, 5, 5}));
  CHECK(phase.status == Status::failed && phase.moved_bytes == 70);
  status.back() = Status::measured;
  CHECK(summarise_phase(messages, ranks, status, 70).status == Status::measured);
  status.front() = Status::unmeasured;
  CHECK(summarise_phase(messages, ranks, status, 70).status == Status::unmeasured);
}

TEST(the_most_detailed_storage_that_fits_is_chosen) {
  const Shape shape{{1}, 20, 100, 10, 1};  // 320,000 bytes raw; a fourth of it as summaries
  CHECK(kept_within(320'000, shape, false) == Kept::samples);
  CHECK(kept_within(319'999, shape, false) == Kept::summaries);
  CHECK(kept_within(79'999, shape, false) == Kept::phase_summaries);
  CHECK(kept_within(79'999, shape, true) == Kept::summaries);
  const Shape once{{1}, 1, 100, 10, 1};  // summaries of one repetition are larger than it
  CHECK(kept_within(15'999, once, false) == Kept::phase_summaries);
}

TEST(samples_that_changed_on_disk_are_not_taken_for_measurements) {
  const StoreFolder folder;
  const fs::path run = folder / "run.zarr";
  const Store::Options options = sample::options(small);
  const Block block{0, 2, 4, 1, 3}, beside{0, 4, 6, 1, 3};
  {
    const auto store = Store::create(run, options);
    store->commit(sample::data(options, block));
    store->commit(sample::data(options, beside));
  }
  const fs::path file = run / "rank_seconds/c/0/0/0/0";
  std::string bytes = text_of(file);
  const double last = sample::data(options, block).rank_seconds.back();
  const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&last), sizeof last));
  REQUIRE(at != std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  overwrite(file, bytes);
  const auto store = Store::resume(run, options, false);
  CHECK_THROWS_SAYING(RunError, "rank_seconds/c/0/0/0/0 differs from its checksums",
                      store->read_rank_seconds(block));
  CHECK(store->read_rank_seconds(beside) == sample::data(options, beside).rank_seconds);
  store->commit(sample::data(options, block));  // measured again
  CHECK(store->read_rank_seconds(block) == sample::data(options, block).rank_seconds);
}

TEST(few_descriptors_are_open_however_many_sizes_there_are) {
  const StoreFolder folder;
  Shape shape = small;
  shape.sizes.clear();
  for (int i = 1; i <= 60; ++i) shape.sizes.push_back(i);
  const Store::Options options = sample::options(shape);
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open_files();
  const auto store = Store::create(folder / "run.zarr", options);
  for (std::int32_t size = 0; size < 60; ++size) store->commit(sample::data(options, {size, 0, 7, 0, 5}));
  CHECK(open_files() - before <= 20);
  CHECK(all(store->done({3, 0, 7, 0, 5})));
}
