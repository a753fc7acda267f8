// A rank that stalls or dies at any moment blocks no other, and is named.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "session/control_server.hpp"
#include "session/messages.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::session;

namespace {

using What = ControlServer::Heard::What;
constexpr double long_seconds = 60;
const std::string secret(64, '5');

ControlServer make_server() { return {Address::parse("127.0.0.1:0"), secret, 2, long_seconds}; }

Deadline soon() { return after_seconds(long_seconds); }

// A rank that has proved itself, and sent nothing yet.
Fd connected(const ControlServer& server, Rank rank) {
  return connect_authenticated(server.address(), {}, secret, {Purpose::control, rank}, soon());
}

void send_half(const Fd& fd) {
  const std::array<std::byte, 9> half{std::byte{4}, {}, {}, {}, std::byte{1}};
  send_all(fd.get(), half, soon());
}

void join(const Fd& fd) { send_frame(fd.get(), FrameType::joined, {}, soon()); }

}  // namespace

TEST(a_rank_that_stalls_in_the_middle_of_a_frame_holds_up_no_other) {
  ControlServer server = make_server();
  Fd a, b;
  std::thread ranks([&] {
    a = connected(server, 0);
    b = connected(server, 1);
    join(a);
    join(b);
  });
  server.await_all(long_seconds, [] {});
  ranks.join();
  send_half(a);
  CHECK(server.hear(0.05, false).what == What::nothing);
  send_frame(b.get(), FrameType::ready, {}, soon());
  const auto heard = server.hear(long_seconds, false);
  CHECK(heard.what == What::frame && heard.rank == 1);
}

TEST(a_rank_that_stalls_while_it_joins_leaves_the_conductor_able_to_hear) {
  for (const bool is_halfway : {false, true}) {
    ControlServer server = make_server();
    Fd stalled;
    std::atomic<bool> is_there = false;
    std::thread rank([&] {
      stalled = connected(server, 1);
      if (is_halfway) send_half(stalled);
      is_there = true;
    });
    int calls = 0;
    const auto idle = [&] {
      if (is_there && ++calls > 3) throw RunError("interrupted");
    };
    CHECK_THROWS_SAYING(RunError, "interrupted", server.await_all(long_seconds, idle));
    rank.join();
  }
}

TEST(a_rank_s_reason_not_to_join_is_reported_although_it_then_dies_and_others_are_missing) {
  ControlServer server = make_server();
  std::thread rank([&] {
    const Fd refusing = connected(server, 1);
    send_frame(refusing.get(), FrameType::refused, pack(Refusal{true, "node b: no interface 'x'"}), soon());
  });
  CHECK_THROWS_SAYING(UsageError, "node b: no interface 'x'", server.await_all(long_seconds, [] {}));
  rank.join();
}

TEST(a_rank_that_dies_while_it_joins_is_named) {
  for (const bool is_halfway : {false, true}) {
    ControlServer server = make_server();
    std::thread rank([&] {
      const Fd dying = connected(server, 1);
      if (is_halfway) send_half(dying);
    });
    CHECK_THROWS_SAYING(RunError, "rank 1 was lost while the ranks joined: the other end closed",
                        server.await_all(long_seconds, [] {}));
    rank.join();
  }
}

TEST(too_many_ranks_for_the_limit_of_open_files_are_refused_at_once) {
  const pid_t child = ::fork();  // the limit cannot be raised again
  if (child == 0) {
    const rlimit limit{200, 200};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::_exit(3);
    try {
      const ControlServer server(Address::parse("127.0.0.1:0"), secret, 200, long_seconds);
    } catch (const UsageError& error) {
      const std::string text = error.what();
      ::_exit(text.find("200 ranks, but may open only 200 files") != std::string::npos &&
                      text.find("(ulimit -Hn) to 264") != std::string::npos
                  ? 0
                  : 2);
    }
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK_EQ(status, 0);
}
