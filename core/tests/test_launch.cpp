// The launcher in this process, with other functions instead of run_rank.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/line_buffer.hpp"
#include "launch/launch.hpp"
#include "launch/node_report.hpp"
#include "launch/spawn_tree.hpp"
#include "measure/pinning.hpp"
#include "session/resolve_interface.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::launch;
using namespace crosscut::measure;
using namespace crosscut::session;

namespace {

SessionConfig session_of(Rank ranks) {
  SessionConfig config;
  config.ranks = config.count = ranks;
  config.secret = std::string(64, '0');
  config.timeout_seconds = 5;
  return config;
}

void give_address(const RankSetup& setup) {
  const std::string line = "127.0.0.1:1\n";
  if (::write(setup.address_fd, line.data(), line.size()) < 0) ::_exit(9);
}

// Runs a session. Returns the text to which each rank writes a line.
struct Ran {
  int status = 0;
  std::set<std::string> lines;
};

Ran run_with(const SessionConfig& config, const std::function<std::string(const RankSetup&)>& line_of) {
  Pipe said = make_pipe();
  const int out = said.write.get();
  Ran ran;
  ran.status = launch::launch(config, {STDIN_FILENO, STDOUT_FILENO, -1}, [&](const RankSetup& setup) {
    if (setup.rank == 0) give_address(setup);
    const std::string line = line_of(setup) + "\n";
    return ::write(out, line.data(), line.size()) < 0 ? 9 : 0;
  });
  said.write.reset();
  for (const std::string& line : LineBuffer().read(said.read.get())) ran.lines.insert(line);
  return ran;
}

bool is_gone(pid_t pid) {
  for (int i = 0; i < 200; ++i, ::usleep(10'000))
    if (::kill(pid, 0) != 0) return true;
  return false;
}

}  // namespace

TEST(every_rank_runs_and_knows_the_conductor) {
  const Ran ran = run_with(session_of(3), [](const RankSetup& setup) {
    return std::to_string(setup.rank) + " of " + std::to_string(setup.ranks) + " at " + setup.conductor;
  });
  CHECK_EQ(ran.status, 0);
  CHECK(ran.lines == std::set<std::string>{"0 of 3 at ", "1 of 3 at 127.0.0.1:1", "2 of 3 at 127.0.0.1:1"});
}

TEST(ranks_are_pinned_if_there_are_enough_cores) {
  const auto core_count = [](const RankSetup&) {
    cpu_set_t cores;
    ::sched_getaffinity(0, sizeof cores, &cores);
    return std::to_string(CPU_COUNT(&cores));
  };
  const auto cores = allowed_cores().size();
  SessionConfig config = session_of(1);
  CHECK(run_with(config, core_count).lines == std::set<std::string>{"1"});
  config.pin = false;
  CHECK(run_with(config, core_count).lines == std::set<std::string>{std::to_string(cores)});
  const auto is_oversubscribed = [](const RankSetup& setup) { return setup.oversubscribed ? "yes" : "no"; };
  CHECK(run_with(session_of(static_cast<Rank>(cores) + 1), is_oversubscribed).lines ==
        std::set<std::string>{"yes"});
  CHECK(run_with(session_of(1), is_oversubscribed).lines == std::set<std::string>{"no"});
}

TEST(a_core_plan_is_round_robin_over_the_requested_cores) {
  const std::vector<int> allowed{0, 1, 4, 5};
  CHECK_EQ(plan_cores(true, {}, allowed, 3), (std::vector<int>{0, 1, 4}));
  CHECK(plan_cores(true, {}, allowed, 5).empty());
  CHECK(plan_cores(false, {}, allowed, 2).empty());
  CHECK_EQ(plan_cores(true, std::vector<int>{5, 0}, allowed, 3), (std::vector<int>{5, 0, 5}));
  CHECK_THROWS_SAYING(UsageError, "core 2", plan_cores(true, std::vector<int>{2}, allowed, 1));
}

TEST(rank_0_decides_the_exit_status) {
  for (const int status : {0, 2, 130}) {
    const int found =
        launch::launch(session_of(2), {STDIN_FILENO, STDOUT_FILENO, -1}, [&](const RankSetup& setup) {
          if (setup.rank == 0) give_address(setup);
          return setup.rank == 0 ? status : 0;
        });
    CHECK_EQ(found, status);
  }
}

TEST(rank_0_hears_of_a_dead_rank_and_the_session_counts_as_failed) {
  Pipe told = make_pipe();
  const int out = told.write.get();
  const int status =
      launch::launch(session_of(2), {STDIN_FILENO, STDOUT_FILENO, -1}, [&](const RankSetup& setup) {
        if (setup.rank == 1) ::raise(SIGKILL);
        give_address(setup);
        const std::string line = read_line(setup.reports_fd, 4096, after_seconds(5)).value() + "\n";
        return ::write(out, line.data(), line.size()) < 0 ? 9 : 0;
      });
  CHECK_EQ(status, 1);
  told.write.reset();
  const auto report = parse_node_report(read_line(told.read.get(), 4096, after_seconds(1)).value());
  REQUIRE(report.has_value());
  CHECK_EQ(report->first_rank, 1);
  CHECK(report->reason.find("signal 9") != std::string::npos);
}

TEST(a_rank_s_last_output_comes_with_the_report_of_its_end) {
  Pipe told = make_pipe();
  const int out = told.write.get();
  launch::launch(session_of(3), {STDIN_FILENO, STDOUT_FILENO, -1}, [&](const RankSetup& setup) {
    if (setup.rank == 1) throw UsageError("no way\nhome \xff\xc3\xa9" + std::string(5000, 'x'));
    if (setup.rank == 2) setup.last_words("seen from afar");
    if (setup.rank == 2) return 7;
    give_address(setup);
    for (int i = 0; i < 2; ++i) {
      const std::string line = read_line(setup.reports_fd, 4096, after_seconds(5)).value() + "\n";
      if (::write(out, line.data(), line.size()) < 0) return 9;
    }
    return 0;
  });
  told.write.reset();
  std::map<Rank, std::string> reasons;
  for (int i = 0; i < 2; ++i) {
    const auto report = parse_node_report(read_line(told.read.get(), 4096, after_seconds(1)).value());
    REQUIRE(report.has_value());
    reasons[report->first_rank] = report->reason;
  }
  CHECK(reasons[1].starts_with("its process exited with status 2: no way home \xc3\xa9xxx"));
  CHECK(reasons[1].size() < 600);
  CHECK_EQ(reasons[2], "its process exited with status 7: seen from afar");
}

TEST(a_dead_rank_0_takes_the_others_with_it) {
  const int status =
      launch::launch(session_of(3), {STDIN_FILENO, STDOUT_FILENO, -1}, [](const RankSetup& setup) {
        if (setup.rank != 0)
          for (;;) ::pause();
        give_address(setup);
        ::raise(SIGKILL);
        return 0;
      });
  CHECK_EQ(status, 1);
  CHECK_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(a_rank_that_does_not_end_is_ended) {
  const int status =
      launch::launch(session_of(2), {STDIN_FILENO, STDOUT_FILENO, -1}, [](const RankSetup& setup) {
        if (setup.rank != 0)
          for (;;) ::pause();
        give_address(setup);
        return 0;
      });
  CHECK_EQ(status, 0);
}

TEST(rank_0_that_never_listens_is_ended_in_time) {
  SessionConfig config = session_of(2);
  config.timeout_seconds = 0.2;
  const int status = launch::launch(config, {STDIN_FILENO, STDOUT_FILENO, -1}, [](const RankSetup&) -> int {
    for (;;) ::pause();
  });
  CHECK_EQ(status, 1);
}

TEST(ranks_die_with_a_killed_node) {
  Pipe pids = make_pipe();
  const int out = pids.write.get();
  const pid_t node = ::fork();
  if (node == 0)
    ::_exit(
        launch::launch(session_of(3), {STDIN_FILENO, STDOUT_FILENO, -1}, [&](const RankSetup& setup) -> int {
          if (setup.rank == 0) give_address(setup);
          const std::string line = std::to_string(::getpid()) + "\n";
          if (::write(out, line.data(), line.size()) < 0) return 9;
          for (;;) ::pause();
        }));
  std::vector<pid_t> ranks;
  for (int i = 0; i < 3; ++i)
    ranks.push_back(std::stoi(read_line(pids.read.get(), 20, after_seconds(5)).value()));
  ::kill(node, SIGKILL);
  ::waitpid(node, nullptr, 0);
  for (const pid_t rank : ranks) CHECK(is_gone(rank));
}

TEST(hosts_are_split_evenly_and_in_order) {
  std::vector<TreeHost> hosts;
  for (int i = 0; i < 7; ++i) hosts.push_back({"n" + std::to_string(i), i, 1});
  const auto parts = split_hosts(hosts, 3);
  REQUIRE(parts.size() == 3);
  Rank next = 0;
  for (const auto& part : parts) {
    CHECK(part.size() == 2 || part.size() == 3);
    for (const TreeHost& host : part) CHECK_EQ(host.first_rank, next++);
  }
  CHECK_EQ(next, 7);
  CHECK_EQ(split_hosts(hosts, 100).size(), 7U);
  CHECK(split_hosts({}, 4).empty());
}

TEST(reports_survive_transmission_and_other_lines_are_not_reports) {
  const NodeReport report{NodeReport::Kind::unreachable, "n\"3", 8, 4, "Connection refused"};
  const auto read = parse_node_report(to_line(report));
  REQUIRE(read.has_value());
  CHECK_EQ(describe(*read), describe(report));
  for (const char* line : {"", "Welcome to n003!", "{}", "[]", R"({"event": 5})", R"({"event": "node-up"})"})
    CHECK(!parse_node_report(line));
}

TEST(lines_are_cut_from_pieces_and_the_last_needs_no_newline) {
  Pipe pipe = make_pipe();
  make_non_blocking(pipe.read);
  LineBuffer lines;
  CHECK_EQ(::write(pipe.write.get(), "one\ntw", 6), 6);
  CHECK_EQ(lines.read(pipe.read.get()), (std::vector<std::string>{"one"}));
  CHECK_EQ(::write(pipe.write.get(), "o\r\n\nend", 7), 7);
  pipe.write.reset();
  CHECK_EQ(lines.read(pipe.read.get()), (std::vector<std::string>{"two", "", "end"}));
  CHECK(lines.ended());
}

TEST(a_newline_that_comes_after_a_full_line_ends_it_and_a_longer_line_comes_in_pieces) {
  constexpr std::size_t most = 16'384;
  Pipe pipe = make_pipe();
  make_non_blocking(pipe.read);
  LineBuffer lines;
  const auto say = [&](const std::string& text) {
    CHECK_EQ(::write(pipe.write.get(), text.data(), text.size()), text.size());
    return lines.read(pipe.read.get());
  };
  const std::string full(most, 'x');
  CHECK(say(full).empty());
  CHECK_EQ(say("\nnext\n"), (std::vector<std::string>{full, "next"}));
  CHECK(say(full).empty());
  CHECK_EQ(say("more\n"), (std::vector<std::string>{full, "more"}));
}

TEST(an_interface_is_chosen_towards_a_host_or_in_a_subnet) {
  CHECK_EQ(resolve_interface("ib0", "n002"), "ib0");
  CHECK_EQ(resolve_interface("auto", "127.0.0.1:4000"), "127.0.0.1");
  CHECK_EQ(resolve_interface("127.0.0.0/8", ""), "127.0.0.1");
  CHECK_EQ(resolve_interface("auto", "localhost"), "127.0.0.1");
  CHECK_EQ(resolve_interface("auto", "no-such-host.invalid"), resolve_interface("auto", ""));
  // A name that leads to this machine's loopback is no way to others.
  std::array<char, 256> own{};
  if (::gethostname(own.data(), own.size() - 1) == 0)
    CHECK(!resolve_interface("auto", own.data()).starts_with("127.") ||
          resolve_interface("auto", "") == "127.0.0.1");
  CHECK_THROWS_SAYING(UsageError, "240.0.0.0/8", resolve_interface("240.0.0.0/8", ""));
  CHECK_THROWS(UsageError, resolve_interface("127.0.0.1/99", ""));
  CHECK_THROWS(UsageError, resolve_interface("ib0/8", ""));
}
