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
TEST(a_resumed_run_keeps_measured_cells_and_records_the_others) {
  const StoreFolder folder;
  const fs::path run = folder / "run.zarr";
  const Store::Options options = sample::options(small);
  const Block block{0, 0, 7, 0, 2};
  {
    const auto store = Store::create(run, options);
    store->commit(sample::data(options, block));
    store->set_iterations(0, 12);
    store->finish("stopped", {});
    CHECK_EQ(attributes_of(run).at("state").string(), "stopped");
  }
  const auto store = Store::resume(run, options, false);
  CHECK(all(store->done(block)) && none(store->done({0, 0, 7, 2, 5})));
  CHECK_EQ(store->iterations(0), 12);
  CHECK_EQ(attributes_of(run).at("state").string(), "running");
  CHECK_EQ(json::write(attributes_of(run).at("resumed").array().at(0).at("blocks")),
           R"([{"size": 0, "phases": [0, 7], "repetitions": [2, 5]}, )"
           R"({"size": 1, "phases": [0, 7], "repetitions": [0, 5]}])");
}

TEST(a_resume_records_when_the_run_stopped_and_a_complete_run_stays_as_it_was) {
  const StoreFolder folder;
  const fs::path run = folder / "run.zarr";
  const Store::Options options = sample::options(small);
  Store::create(run, options)->finish("stopped", {});
  const std::string stopped = attributes_of(run).at("end").string();
  const auto entry = [&](std::size_t at) { return attributes_of(run).at("resumed").array().at(at); };
  Store::resume(run, options, false);  // and killed
  CHECK_EQ(entry(0).at("stopped").string(), stopped);
  {
    const auto store = Store::resume(run, options, false);
    CHECK(entry(1).at("stopped").is_null());
    for (const std::int32_t size : {0, 1}) store->commit(sample::data(options, {size, 0, 7, 0, 5}));
    store->finish("complete", {});
  }
  const std::string before = text_of(run / "zarr.json");
  Store::resume(run, options, false)->finish("complete", {{"effort", json::Array{}}});
  CHECK_EQ(text_of(run / "zarr.json"), before);
}

TEST(a_count_that_no_job_can_have_requested_is_refused_on_resuming) {
  for (const std::int64_t value : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    const StoreFolder folder;
    const fs::path run = folder / "run.zarr";
    const Store::Options options = sample::options(small);
    { const auto store = Store::create(run, options); }
    const std::array<std::int64_t, 2> counts{3, value};
    std::string bytes(sizeof counts, '\0');
    std::memcpy(bytes.data(), counts.data(), sizeof counts);
    overwrite(run / "iterations/c/0", bytes);
    CHECK_THROWS_SAYING(RunError, "is not a valid value of iterations", Store::resume(run, options, false));
  }
}

TEST(coordinates_are_written_and_compared_phase_by_phase) {
  const StoreFolder folder;
  const fs::path run = folder / "run.zarr";
  Store::Options options = sample::options(small);
  options.coordinates.bytes_differ = true;
  { const auto store = Store::create(run, options); }
  std::string peers, bytes;
  for (std::int64_t phase = 0; phase < small.phases; ++phase) {
    const PhaseSamples samples = sample::samples_of(small, phase);
    peers.append(reinterpret_cast<const char*>(samples.peer.data()), samples.peer.size() * 4);
    bytes.append(reinterpret_cast<const char*>(samples.bytes.data()), samples.bytes.size() * 8);
  }
  CHECK(text_of(run / "peer" / "c" / "0" / "0" / "0") == peers);
  CHECK(text_of(run / "bytes" / "c" / "0" / "0" / "0") == bytes);
  { const auto store = Store::resume(run, options, false); }
  options.coordinates.samples = [](std::size_t phase) {
    PhaseSamples samples = sample::samples_of(small, static_cast<std::int64_t>(phase));
    if (phase + 1 == static_cast<std::size_t>(small.phases)) samples.bytes.back() = 7;
    return samples;
  };
  CHECK_THROWS_SAYING(UsageError, "coordinate bytes", Store::resume(run, options, true));
}

TEST(resuming_something_else_is_refused_and_every_difference_named) {
  const StoreFolder folder;
  const fs::path run = folder / "run.zarr";
  const Store::Options options = sample::options(small);
  { const auto store = Store::create(run, options); }
  Shape more = small;
  more.repetitions = 6;
  CHECK_THROWS_SAYING(UsageError, "number of repetitions", Store::resume(run, sample::options(more), true));
  Store::Options other = options;
  other.shape.sizes[1] = 3000;
  CHECK_THROWS_SAYING(UsageError, "coordinate size", Store::resume(run, other, true));
  other = options;
  other.coordinates.samples = [](std::size_t phase) {
    PhaseSamples samples = sample::samples_of(small, static_cast<std::int64_t>(phase));
    if (phase == 1) samples.peer[3] += 1;
    return samples;
  };
  CHECK_THROWS_SAYING(UsageError, "coordinate peer", Store::resume(run, other, true));
  other = options;
  other.compute = true;
  CHECK_THROWS_SAYING(UsageError, "array compute_fraction", Store::resume(run, other, true));
  other = options;
  json::Value attributes = other.attributes;
  attributes.find("job")->set("seed", 2);
  other.attributes = attributes.object();
  CHECK_THROWS_SAYING(UsageError, "job.seed (the run: 1; now: 2)", Store::resume(run, other, true));
}

TEST(other_nodes_and_settings_are_refused_unless_forced_and_then_recorded) {
  const StoreFolder folder;
  const fs::path run = folder / "run.zarr";
  Store::Options options = sample::options(small);
  { const auto store = Store::create(run, options); }
  json::Value attributes = options.attributes;
  attributes.find("job")->set("sync", "none");
  attributes.find("nodes")->array()[1].set("id", "another");
  options.attributes = attributes.object();
  CHECK_THROWS_SAYING(UsageError, "job.sync", Store::resume(run, options, false));
  CHECK_THROWS_SAYING(UsageError, "another", Store::resume(run, options, false));
  { const auto store = Store::resume(run, options, true); }
  const json::Value entry = attributes_of(run).at("resumed").array().at(0);
  CHECK(entry.at("forced").boolean());
  CHECK_EQ(entry.at("differences").array().size(), 2U);
  CHECK_EQ(attributes_of(run).at("job").at("sync").string(), "barrier");
}

TEST(a_run_resumed_by_another_version_says_so_and_other_methods_are_refused_unless_forced) {
  const StoreFolder folder;
  const fs::path run = folder / "run.zarr";
  const auto options_of = [](const char* version) {
    Store::Options options = sample::options(small);
    options.attributes.front().second = version;
    return options;
  };
  { const auto store = Store::create(run, options_of("1.2.3")); }
  { const auto store = Store::resume(run, options_of("1.2.10"), false); }
  CHECK_THROWS_SAYING(UsageError, R"(version of crosscut (the run: "1.2.3"; now: "1.3.0"))",
                      Store::resume(run, options_of("1.3.0"), false));
  { const auto store = Store::resume(run, options_of("1.3.0"), true); }
  const json::Array entries = attributes_of(run).at("resumed").array();
  CHECK_EQ(entries.at(0).at("crosscut").string(), "1.2.10");
  CHECK(!entries.at(0).at("forced").boolean());
  CHECK_EQ(entries.at(1).at("crosscut").string(), "1.3.0");
  CHECK(entries.at(1).at("forced").boolean());
  CHECK_EQ(attributes_of(run).at("crosscut").string(), "1.2.3");
}

TEST(missing_and_truncated_samples_are_found_on_resuming) {
  const StoreFolder folder;
  const fs::path run = folder / "run.zarr", chunk = run / "message_seconds/c/0/0/0/0/0";
  const Store::Options options = sample::options(small);
  {
    const auto store = Store::create(run, options);
    store->commit(sample::data(options, {0, 0, 7, 0, 5}));
  }
  const std::string good = text_of(chunk);
  for (const std::size_t length : {std::size_t{0}, std::size_t{15}, std::size_t{16}, good.size() - 1}) {
    overwrite(chunk, good.substr(0, length));
    CHECK_THROWS_SAYING(RunError, "crosscut fsck", Store::resume(run, options, false));
  }
  std::string elsewhere = good;
  elsewhere[0] = 1;
  overwrite(chunk, elsewhere);
  CHECK_THROWS_SAYING(RunError, "points to the wrong place", Store::resume(run, options, false));
  fs::remove(chunk);
  CHECK_THROWS_SAYING(RunError, "crosscut fsck", Store::resume(run, options, false));
  overwrite(chunk, good);
  CHECK(all(Store::resume(run, options, false)->done({0, 0, 7, 0, 5})));
}

TEST(phase_summaries_survive_a_resume) {
  const StoreFolder folder;
  const fs::path run = folder / "run.zarr";
  Store::Options options = sample::options(small);
  options.kept = Kept::phase_summaries;
  const auto block_of = [&](const Block& block) {
    BlockData data;
    data.block = block;
    data.skew_seconds = sample::data(options, block).skew_seconds;
    data.phases = summarise_phases(sample::data(options, block), small, std::vector<std::int64_t>(7, 11));
    return data;
  };
  {
    const auto store = Store::create(run, options);
    store->commit(block_of({1, 0, 7, 0, 2}));
    store->commit(block_of({1, 2, 5, 2, 3}));
  }
  CHECK_EQ(attributes_of(run).at("schema").at("version").integer(), 3);
  const auto store = Store::resume(run, options, false);
  CHECK(all(store->done({1, 0, 7, 0, 2})) && none(store->done({0, 0, 7, 0, 5})));
  CHECK(store->done({1, 0, 7, 2, 3}) == std::vector<bool>({false, false, true, true, true, false, false}));
  const auto slowest = store->read_rank_seconds({1, 2, 3, 1, 2});
  REQUIRE(slowest.size() == 1);
  const auto samples = sample::data(options, {1, 2, 3, 1, 2}).rank_seconds;
  CHECK_EQ(slowest[0], *std::ranges::max_element(samples));
  BlockData short_of_one = block_of({1, 0, 7, 4, 5});
  short_of_one.phases.pop_back();
  CHECK_THROWS_SAYING(RunError, "phase summaries", store->commit(short_of_one));
}

TEST(a_run_without_checksums_and_skew_is_resumed_without) {
  const StoreFolder folder;
  const fs::path run = folder / "run.zarr";
  Store::Options options = sample::options(small);
  options.checksums = options.skew = false;
  Store::create(run, options)->commit(sample::data(options, {0, 0, 7, 0, 2}));
  replace_in(run / "zarr.json", "\"version\": 3", "\"version\": 1");
  options.checksums = options.skew = true;
  const auto store = Store::resume(run, options, false);
  CHECK(all(store->done({0, 0, 7, 0, 2})));
  store->commit(sample::data(options, {0, 0, 7, 2, 5}));
  CHECK(store->read_rank_seconds({0, 0, 7, 0, 5}) == sample::data(options, {0, 0, 7, 0, 5}).rank_seconds);
  CHECK_EQ(attributes_of(run).at("schema").at("version").integer(), 1);
  CHECK(!fs::exists(run / "checksum") && !fs::exists(run / "skew_seconds"));
}
