// The core's side of a simulation under SMPI, with scripts instead of smpirun: SimGrid is not needed.
#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/error.hpp"
#include "smpi/smpi_process.hpp"
#include "smpi/smpi_ranks.hpp"
#include "tests/check.hpp"

namespace {

using namespace crosscut;
using namespace crosscut::networks;
using namespace crosscut::smpi;

const SmpiBlock block{.pattern = "aapc",
                      .parameters = {{"stride", "2"}},
                      .bytes = 1000,
                      .phase_first = 1,
                      .phase_end = 3,
                      .slots = 1,
                      .overheads = {.send = 1e-6, .receive = 0.1}};

// A folder with a script `smpirun`, first on PATH, and a file that passes for a player.
class Scripted {
 public:
  explicit Scripted(const std::string& script) {
    const auto path = folder_.path() / "smpirun";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    ::setenv("PATH", (folder_.path().string() + ":" + original_).c_str(), 1);
    ::setenv("CROSSCUT_SMPI_PLAYER", path.c_str(), 1);
  }
  ~Scripted() {
    ::setenv("PATH", original_.c_str(), 1);
    ::unsetenv("CROSSCUT_SMPI_PLAYER");
  }
  SmpiProcess::Setup setup(std::function<void()> idle = [] {}) const {
    return {.platform = folder_.path() / "platform.xml",
            .hosts = folder_.path() / "hosts",
            .log = folder_.path() / "log",
            .ranks = 2,
            .options = {"a:b"},
            .idle = std::move(idle)};
  }

 private:
  std::string original_ = std::getenv("PATH");
  TemporaryFolder folder_;
};

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(a_block_arrives_as_it_was_sent) {
  const auto line = write_block(block);
  CHECK_EQ(line.find('\n'), line.size() - 1);
  const auto read = parse_block(line);
  CHECK_EQ(read.pattern, block.pattern);
  CHECK(read.parameters == block.parameters);
  CHECK_EQ(read.bytes, block.bytes);
  CHECK_EQ(read.phase_first, block.phase_first);
  CHECK_EQ(read.phase_end, block.phase_end);
  CHECK_EQ(read.slots, block.slots);
  CHECK_EQ(read.overheads.send, block.overheads.send);
  CHECK_EQ(read.overheads.receive, block.overheads.receive);
  CHECK_EQ(read.doubles(2), std::size_t{8});
}

TEST(a_line_that_is_not_a_block_is_refused) {
  for (const char* line :
       {"", "{}", "[1]",
        R"({"pattern":"a","parameters":{},"bytes":1,"phase_first":3,"phase_end":1,"slots":1})",
        R"({"pattern":"a","parameters":{},"bytes":-1,"phase_first":0,"phase_end":1,"slots":1})",
        R"({"pattern":"a","parameters":[],"bytes":1,"phase_first":0,"phase_end":1,"slots":1})",
        R"({"pattern":"a","parameters":{},"bytes":1,"phase_first":0,"phase_end":1,"slots":1e300})"}) {
    CHECK_THROWS(UsageError, parse_block(line));
  }
}

TEST(samples_are_taken_from_the_socket_whole) {
  // In two pieces, the second later.
  const Scripted script(
      "printf 'ready 9.9\\n' >&0; read line; printf 'samples\\n' >&0; head -c 3 /dev/zero >&0; sleep 0.2; "
      "head -c 61 /dev/zero >&0; read line");
  SmpiProcess process(script.setup());
  CHECK_EQ(process.simgrid_version(), "9.9");
  CHECK(process.play(block) == std::vector<double>(8, 0.0));
}

TEST(smpirun_gets_ranks_platform_options_and_the_player) {
  const Scripted script("printf 'ready %s\\n' \"$(echo \"$@\" | tr '\\n' ' ')\" >&0; read line");
  const auto setup = script.setup();
  SmpiProcess process(script.setup());
  const auto words = process.simgrid_version();
  CHECK(contains(words, "-np 2 "));
  CHECK(contains(words, "-platform " + setup.platform.string()));
  CHECK(contains(words, "-hostfile " + setup.hosts.string()));
  CHECK(contains(words, "--cfg=a:b"));
  CHECK(words.find("--cfg=a:b") < words.find(std::getenv("CROSSCUT_SMPI_PLAYER")));
}

TEST(what_the_player_refuses_is_a_usage_error) {
  const Scripted script(
      "printf 'ready 9\\n' >&0; read line; printf 'usage no such pattern\\n' >&0; read line");
  SmpiProcess process(script.setup());
  CHECK_THROWS_SAYING(UsageError, "no such pattern", process.play(block));
}

TEST(a_simulation_that_ends_is_reported_with_its_last_output) {
  const Scripted script("printf 'ready 9\\n' >&0; read line; echo out of luck >&2; exit 7");
  SmpiProcess process(script.setup());
  CHECK_THROWS_SAYING(RunError, "status 7; it said: out of luck", process.play(block));
}

TEST(a_simulation_that_does_not_start_is_reported_with_its_last_output) {
  const Scripted script("echo no platform; exit 3");
  CHECK_THROWS_SAYING(RunError, "no platform", SmpiProcess(script.setup()));
}

TEST(invalid_output_of_a_simulation_is_refused) {
  const Scripted script("printf 'hello\\n' >&0; read line");
  CHECK_THROWS_SAYING(RunError, "hello", SmpiProcess(script.setup()));
}

TEST(waiting_can_be_given_up) {
  const Scripted script("printf 'ready 9\\n' >&0; sleep 60");
  int heard = 0;
  SmpiProcess process(script.setup([&] {
    if (++heard == 2) throw RunError("enough");
  }));
  CHECK_THROWS_SAYING(RunError, "enough", process.play(block));
}

TEST(a_missing_simgrid_is_a_usage_error) {
  const Scripted script("exit 0");
  ::setenv("PATH", "/nowhere", 1);
  CHECK_THROWS_SAYING(UsageError, "apt install", SmpiProcess(script.setup()));
}

TEST(a_player_missing_at_its_configured_path_is_named) {
  ::setenv("CROSSCUT_SMPI_PLAYER", "/nowhere/player", 1);
  CHECK_THROWS_SAYING(UsageError, "/nowhere/player", find_smpi_player());
  ::unsetenv("CROSSCUT_SMPI_PLAYER");
}

TEST(messages_of_the_eager_limit_are_eager_in_simgrid_too) {
  const auto options = smpi_player_options(65536);
  // SMPI's limit is exclusive.
  CHECK(std::find(options.begin(), options.end(), "smpi/async-small-thresh:65537") != options.end());
  CHECK(std::find(options.begin(), options.end(), "smpi/send-is-detached-thresh:65537") != options.end());
}

TEST(overheads_become_options) {
  const auto plain = smpi_program_options({});
  CHECK(std::none_of(plain.begin(), plain.end(), [](const auto& one) { return one.starts_with("smpi/o"); }));
  const auto options = smpi_program_options({.send = 0.5, .receive = 0.25});
  for (const char* one : {"smpi/os:0:0.5:0", "smpi/ois:0:0.5:0", "smpi/or:0:0.25:0"})
    CHECK(std::find(options.begin(), options.end(), one) != options.end());
}

TEST(hosts_with_different_overheads_are_refused) {
  const std::string two_hosts =
      "[[hosts]]\nnames = \"a\"\nsend_overhead = \"1 us\"\n[[hosts]]\nnames = \"b\"\nsend_overhead = "
      "\"SECOND us\"\n"
      "[[switches]]\nnames = \"s\"\n[[links]]\nbetween = [\"a\", \"s\"]\nrate = \"1 "
      "Gbit/s\"\n[[links]]\nbetween = [\"b\", \"s\"]\nrate = \"1 Gbit/s\"\n";
  const auto network_with = [&](const std::string& second) {
    auto text = two_hosts;
    return parse_network(text.replace(text.find("SECOND"), 6, second), "two.toml");
  };
  CHECK_EQ(common_overheads(*network_with("1")).send, 1e-6);
  CHECK_EQ(common_overheads(*network_with("1")).receive, 0.0);
  CHECK_THROWS_SAYING(UsageError, "hosts a and b have different send_overhead",
                      common_overheads(*network_with("2")));
}

TEST(a_temporary_folder_is_removed_with_its_contents) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    std::ofstream(path / "file") << "x";
    CHECK(std::filesystem::exists(path / "file"));
  }
  CHECK(!std::filesystem::exists(path));
}
