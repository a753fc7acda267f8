// Simulated ranks from a session's view: a rank group, and a session without processes.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "backends/sim/crew.hpp"
#include "backends/sim/ranks.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/file.hpp"
#include "launch/launch.hpp"
#include "program/moved_bytes.hpp"
#include "store/summary.hpp"
#include "tests/check.hpp"
#include "tests/pattern_cases.hpp"

namespace {

using namespace crosscut;
using namespace crosscut::backends::sim;
using namespace crosscut::conduct;
using namespace crosscut::launch;
using namespace crosscut::networks;
using namespace crosscut::program;
using namespace crosscut::session;
using namespace crosscut::store;
using namespace crosscut::tests;

const std::string two_leaves =
    "name = \"two-leaves\"\n[generator]\nkind = \"clos\"\nleaves = 2\nhosts_per_leaf = 4\nspines = 1\n"
    "rate = \"8 Mbit/s\"\n";
const std::string sixteen =
    "name = \"tree\"\n[generator]\nkind = \"fat-tree\"\nradix = 4\nlevels = 3\nrate = \"8 Mbit/s\"\n";

SimulatedRanks ranks_on(const std::string& text, SimulatedRanks::Setup setup = {}) {
  setup.description = text;
  return SimulatedRanks(parse_network(text, "test.toml"), setup);
}

SimulatedRanks::Setup setup_of(Rank ranks, int ranks_per_host) {
  SimulatedRanks::Setup setup;
  setup.ranks = ranks;
  setup.ranks_per_host = ranks_per_host;
  return setup;
}

Job job_of(std::string pattern) {
  Job job;
  job.pattern = std::move(pattern);
  job.backend = "sim";
  return job;
}

const std::string end_request = "{\"do\": \"end\"}\n";

// Returns a session's output and how it ends, given these requests.
struct Served {
  int status = 0;
  std::vector<json::Value> events;
  const json::Value* find(std::string_view event) const {
    for (const auto& one : events)
      if (one.at("event").string() == event) return &one;
    return nullptr;
  }
};

Served serve(const SessionConfig& config, const std::string& requests) {
  Pipe input = make_pipe(), output = make_pipe();
  if (::write(input.write.get(), requests.data(), requests.size()) != std::ssize(requests))
    throw_errno("write requests");
  if (!requests.ends_with(end_request)) input.write.reset();  // end of file stops the current job
  Served served;
  const RankBody nobody = [](const RankSetup&) { return 99; };
  served.status = launch::launch(config, {input.read.get(), output.write.get(), -1}, nobody);
  output.write.reset();
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(output.read.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  for (std::size_t from = 0, to = 0; (to = text.find('\n', from)) != std::string::npos; from = to + 1)
    served.events.push_back(json::parse(text.substr(from, to - from)));
  return served;
}

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() / ("test_sim_ranks." + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

SessionConfig simulated(Rank ranks) {
  SessionConfig config;
  config.ranks = config.count = ranks;
  config.backend = "sim";
  return config;
}

std::string run_request(const std::string& pattern, const std::string& out) {
  return R"({"do": "run", "job": {"pattern": ")" + pattern +
         R"(", "backend": "sim", "sizes": [1000000], "out": ")" + out + "\"}}\n";
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

}  // namespace

TEST(rates_are_those_of_the_network) {
  auto ranks = ranks_on(two_leaves);
  CHECK_EQ(ranks.ranks(), 8);
  const auto seconds = [&](const std::string& pairs) {
    auto job = job_of("pairs");
    job.pattern_parameters["pairs"] = pairs;
    ranks.begin(job);
    return ranks.run({1'000'000, {0, 0, 1, 0, 1}, 1}).data.rank_seconds[0];
  };
  CHECK(near(seconds("0-1,2-3"), 1.0));  // a host's link: 1 MB/s
  CHECK(near(seconds("0-4"), 1.0));      // the uplink carries as much as one of them
  CHECK(near(seconds("0-4,1-5"), 2.0));
  CHECK(near(seconds("0-4,1-5,2-6,3-7"), 4.0));
}

TEST(every_repetition_equals_the_first) {
  auto ranks = ranks_on(two_leaves);
  ranks.begin(job_of("aapc"));
  const auto outcome = ranks.run({1'000'000, {0, 2, 5, 0, 3}, 1});
  const auto& seconds = outcome.data.rank_seconds;
  CHECK_EQ(seconds.size(), std::size_t{3 * 3 * 8});
  for (std::size_t i = 24; i < seconds.size(); ++i) CHECK_EQ(seconds[i], seconds[i - 24]);
  CHECK_EQ(outcome.data.message_seconds.size(), seconds.size());
  for (const auto value : seconds) CHECK(value >= 1.0);
}

TEST(summaries_of_phases_are_those_of_their_samples) {
  auto ranks = ranks_on(sixteen);
  for (const auto* name : {"aapc", "random-pairwise", "aapc-burst", "congestor", "chain"}) {
    const auto pattern = make_pattern(name);
    const auto extent = pattern->extent(ranks.ranks(), 100'000);
    const auto phases = std::min<std::int64_t>(extent.phases, 6);
    ranks.begin(job_of(name));
    BlockRequest request{
        .bytes = 100'000, .block = {0, 0, phases, 0, 2}, .iterations = 1, .summarise = false};
    const auto raw = ranks.run(request).data;
    request.summarise = true;
    const auto summed = ranks.run(request).data;
    CHECK(summed.rank_seconds.empty() && summed.message_seconds.empty());
    std::vector<std::int64_t> moved;
    for (std::int64_t index = 0; index < phases; ++index)
      moved.push_back(most_moved_bytes(*pattern->phase(ranks.ranks(), 100'000, index), ranks.ranks()));
    const Shape shape{{100'000}, 2, phases, ranks.ranks(), extent.slots};
    const auto expected = summarise_phases(raw, shape, moved);
    REQUIRE(summed.phases.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(summed.phases[i].messages == expected[i].messages);
      CHECK(summed.phases[i].ranks == expected[i].ranks);
      CHECK_EQ(summed.phases[i].moved_bytes, expected[i].moved_bytes);
      CHECK(summed.phases[i].status == Status::measured && expected[i].messages[0] > 0);
    }
  }
}

TEST(very_many_hosts_are_counted_not_listed) {
  const std::string many = "[generator]\nkind = \"crossbar\"\nhosts = 2000\nrate = \"8 Mbit/s\"\n";
  const auto nodes = [&](Rank count) {
    const json::Value attributes = ranks_on(many, setup_of(count, 0)).attributes();
    return attributes.at("nodes");
  };
  CHECK_EQ(nodes(1024).array().size(), std::size_t{1024});
  CHECK_EQ(nodes(1025).at("count").integer(), 1025);
  CHECK_EQ(nodes(1025).at("first").at("name").string(), "n0000");
  CHECK_EQ(nodes(1025).at("last").at("id").string(), "n1024");
  CHECK_EQ(ranks_on(many).ready_event().at("nodes").at("count").integer(), 2000);
}

TEST(a_phase_s_properties_computed_without_it_are_true) {
  for (const auto* info : patterns()) {
    for (const Rank ranks : {Rank{2}, Rank{7}, Rank{8}}) {
      const auto pattern = info->make(Parameters(info->parameters, {}, "pattern"));
      if (!pattern->refuse(ranks).empty()) continue;
      for (std::int64_t i = 0; i < std::min<std::int64_t>(pattern->extent(ranks, 1000).phases, 9); ++i) {
        const auto phase = pattern->phase(ranks, 1000, i);
        double most = 0;
        for (Rank rank = 0; rank < ranks; ++rank) most = std::max(most, phase->credited_bytes(rank));
        CHECK_EQ(pattern->most_credited_bytes(ranks, 1000, i), most);
        CHECK_EQ(pattern->label(ranks, 1000, i), phase->label());
      }
    }
  }
}

TEST(a_run_that_would_be_too_large_keeps_summaries_of_phases) {
  const Folder folder;
  const auto out = folder / "run.zarr";
  auto request = run_request("aapc", out);
  request.insert(request.find("\"sizes\""), "\"raw_budget_bytes\": 100, ");
  const auto served = serve(simulated(4), request + end_request);
  REQUIRE(served.find("finished") != nullptr);
  CHECK_EQ(served.find("finished")->at("state").string(), "complete");
  const auto group = json::parse(read_file(out + "/zarr.json", 1 << 20));
  CHECK_EQ(group.at("attributes").at("schema").at("version").integer(), 3);
  CHECK_EQ(group.at("attributes").at("slots").integer(), 1);
  const auto& arrays = group.at("consolidated_metadata").at("metadata");
  CHECK(arrays.find("phase_rank_summary") != nullptr && arrays.find("rank_seconds") == nullptr);
}

TEST(the_worker_that_computes_a_phase_does_not_matter) {
  const auto network = parse_network(sixteen, "test.toml");
  const NetworkPaths paths(*network, 1);
  const Rank ranks = network->graph.hosts;
  for (const auto* name : {"aapc", "random-pairwise", "aapc-burst", "loaded-pingpong"}) {
    const auto pattern = make_pattern(name);
    const auto phases = std::min<std::int64_t>(pattern->extent(ranks, 100'000).phases, 12);
    const auto times = [&](std::size_t workers) {
      std::vector<double> all(static_cast<std::size_t>(phases * ranks));
      SimCrew crew(paths, {}, workers);
      crew.run(
          0, phases,
          [&](std::int64_t index, PhaseSimulation& simulation) {
            simulation.run(*pattern->phase(ranks, 100'000, index), ranks);
            const auto slots = pattern->extent(ranks, 100'000).slots;
            std::vector<double> messages(static_cast<std::size_t>(ranks * slots));
            simulation.samples(slots, messages,
                               std::span(all).subspan(static_cast<std::size_t>(index * ranks),
                                                      static_cast<std::size_t>(ranks)));
          },
          [] {});
      for (auto& value : all) value = std::isnan(value) ? -1 : value;
      return all;
    };
    const auto alone = times(1);
    CHECK_EQ(alone, times(4));
    CHECK(*std::ranges::max_element(alone) > 0);
  }
}

TEST(an_exception_in_a_phase_ends_the_block) {
  const auto network = parse_network(sixteen, "test.toml");
  const NetworkPaths paths(*network, 1);
  SimCrew crew(paths, {}, 3);
  CHECK_THROWS_SAYING(RunError, "phase 7",
                      crew.run(
                          0, 1000,
                          [](std::int64_t phase, PhaseSimulation&) {
                            if (phase == 7) throw RunError("phase 7");
                          },
                          [] {}));
  std::atomic<int> done = 0;
  crew.run(
      0, 10, [&](std::int64_t, PhaseSimulation&) { ++done; }, [] {});
  CHECK_EQ(done.load(), 10);
}

TEST(an_interrupt_ends_the_block) {
  const auto network = parse_network(sixteen, "test.toml");
  const NetworkPaths paths(*network, 1);
  SimCrew crew(paths, {}, 2);
  const auto interrupt = [] { throw RunError("interrupted twice"); };
  CHECK_THROWS_SAYING(RunError, "interrupted twice",
                      crew.run(
                          0, std::int64_t{1} << 60, [](std::int64_t, PhaseSimulation&) {}, interrupt));
}

TEST(ranks_of_one_host_share_its_memory_and_its_adapter) {
  const std::string text =
      "[host]\nranks = 2\nmemory_rate = \"80 Mbit/s\"\n[generator]\nkind = \"crossbar\"\nhosts = 2\nrate = "
      "\"8 Mbit/s\"\n";
  auto ranks = ranks_on(text);
  CHECK_EQ(ranks.ranks(), 4);
  CHECK_EQ(ranks.nodes(), (std::vector<std::int32_t>{0, 0, 1, 1}));
  auto job = job_of("pairs");
  job.pattern_parameters["pairs"] = "0-1";
  ranks.begin(job);
  CHECK(near(ranks.run({1'000'000, {0, 0, 1, 0, 1}, 1}).data.rank_seconds[0],
             0.2));  // both directions at 10 MB/s
  job.pattern_parameters["pairs"] = "0-2,1-3";
  ranks.begin(job);
  CHECK(near(ranks.run({1'000'000, {0, 0, 1, 0, 1}, 1}).data.rank_seconds[0], 2.0));
}

TEST(ranks_that_do_not_fit_are_refused) {
  CHECK_THROWS_SAYING(UsageError, "9 ranks do not fit", ranks_on(two_leaves, setup_of(9, 0)));
  CHECK_EQ(ranks_on(two_leaves, setup_of(9, 2)).ranks(), 9);
  CHECK_EQ(ranks_on(two_leaves, setup_of(9, 2)).nodes().back(), 4);
}

TEST(what_cannot_be_simulated_is_refused) {
  auto ranks = ranks_on(two_leaves);
  auto job = job_of("aapc");
  job.backend = "tcp";
  CHECK_THROWS_SAYING(UsageError, "cannot measure over backend tcp", ranks.begin(job));
  job = job_of("aapc"), job.compute = true;
  CHECK_THROWS_SAYING(UsageError, "--compute", ranks.begin(job));
  job = job_of("aapc"), job.sync = "none";
  CHECK_THROWS_SAYING(UsageError, "--sync none", ranks.begin(job));
  job = job_of("aapc"), job.iterations = 10;
  CHECK_THROWS_SAYING(UsageError, "--iterations", ranks.begin(job));
  job = job_of("aapc"), job.backend_parameters["eager"] = "a lot";
  CHECK_THROWS_SAYING(UsageError, "eager", ranks.begin(job));
}

TEST(more_rails_than_a_rank_has_adapters_are_refused) {
  const std::string text =
      "name = \"two\"\n[generator]\nkind = \"crossbar\"\nhosts = 4\nrate = \"8 Mbit/s\"\n";
  auto job = job_of("chain");
  job.sizes = {100'000};
  const auto begin = [&](const std::string& network, int ranks_per_host, const std::string& rails) {
    job.pattern_parameters = {{"rails", rails}};
    ranks_on(network, setup_of(0, ranks_per_host)).begin(job);
  };
  const std::string two = text + "[host]\nadapters = 2\n";
  begin(two, 1, "2");
  begin(text, 1, "1");
  CHECK_THROWS_SAYING(UsageError, "uses 3 rails, but a rank on network two has 2", begin(two, 1, "3"));
  CHECK_THROWS_SAYING(UsageError, "uses 2 rails, but a rank on network two has 1", begin(text, 1, "2"));
  CHECK_THROWS_SAYING(UsageError, "2 ranks share a host's", begin(two, 2, "2"));
}

TEST(a_run_knows_its_network) {
  const json::Value attributes = ranks_on(two_leaves).attributes();
  CHECK_EQ(attributes.at("network").at("description").string(), two_leaves);
  CHECK_EQ(attributes.at("network").at("kind").string(), "clos");
  CHECK_EQ(attributes.at("clock").at("name").string(), "virtual");
  CHECK_EQ(attributes.at("nodes").array().size(), std::size_t{8});
}

TEST(a_session_is_served_without_processes) {
  const Folder folder;
  const auto out = folder / "run.zarr";
  const auto served = serve(simulated(4), run_request("aapc", out) + end_request);
  CHECK_EQ(served.status, 0);
  CHECK_EQ(served.events.front().at("event").string(), "ready");
  CHECK_EQ(served.events.back().at("event").string(), "ended");
  REQUIRE(served.find("finished") != nullptr);
  CHECK_EQ(served.find("finished")->at("state").string(), "complete");
  CHECK_EQ(served.find("started")->at("repetitions").integer(), 1);  // the same each time
  const auto metadata = json::parse(read_file(out + "/zarr.json", 1 << 20));
  CHECK_EQ(metadata.at("attributes").at("network").at("kind").string(), "crossbar");
}

TEST(end_of_input_ends_the_session) {
  const auto served = serve(simulated(4), "");
  CHECK_EQ(served.status, 0);
  CHECK_EQ(served.events.size(), std::size_t{2});
}

TEST(end_of_input_stops_the_job) {
  const Folder folder;
  const auto served = serve(simulated(4), run_request("aapc", folder / "run.zarr"));
  REQUIRE(served.find("finished") != nullptr);
  CHECK_EQ(served.find("finished")->at("state").string(), "stopped");
}

TEST(mistakes_are_events_and_the_session_goes_on) {
  const Folder folder;
  const auto served = serve(simulated(4), "{\"do\": \"dance\"}\n" + run_request("no-pattern", folder / "a") +
                                              run_request("aapc", folder / "b") + end_request);
  CHECK_EQ(served.status, 2);
  CHECK_EQ(served.find("error")->at("kind").string(), "usage");
  CHECK(served.find("finished") != nullptr);
}

TEST(a_network_that_is_not_there_ends_the_session) {
  auto config = simulated(4);
  config.network = "./no-such-network.toml";
  const auto served = serve(config, "");
  CHECK_EQ(served.status, 2);
  CHECK(served.find("error")->at("message").string().find("no-such-network.toml") != std::string::npos);
  CHECK(served.find("ready") == nullptr);
  config.backend = "tcp";
  CHECK_THROWS_SAYING(UsageError, "simulated sessions", serve(config, ""));
}

TEST(zero_means_all_ranks_of_a_network) {
  const Folder folder;
  const auto file = folder / "tree.toml";
  replace_file(file, std::as_bytes(std::span(sixteen)));
  const auto config = parse_session(R"({"ranks": 0, "backend": "sim", "network": ")" + file + "\"}");
  const auto served = serve(config, "");
  CHECK_EQ(served.find("ready")->at("ranks").integer(), 16);
}
