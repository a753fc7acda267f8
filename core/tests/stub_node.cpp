// `node` with ranks that only join, to test the launcher without real ranks. Rank 0 reports who joined,
// passes on requests {"do": "crash" | "exit", "rank": N}, repeats reports, and ends with its input.
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "base/json.hpp"
#include "base/line_buffer.hpp"
#include "launch/launch.hpp"
#include "session/socket.hpp"

namespace {

using namespace crosscut;
using namespace crosscut::session;

void say(const json::Value& value) { std::cout << json::write(value) << std::endl; }

json::Value introduction(const RankSetup& setup) {
  cpu_set_t cores;
  ::sched_getaffinity(0, sizeof cores, &cores);
  return json::Object{{"rank", setup.rank},
                      {"host", setup.host},
                      {"pid", static_cast<std::int64_t>(::getpid())},
                      {"parent", static_cast<std::int64_t>(::getppid())},
                      {"cores", CPU_COUNT(&cores)},
                      {"interface", setup.interface},
                      {"oversubscribed", setup.oversubscribed},
                      {"local_ranks", setup.local_ranks}};
}

void send_line(int fd, const std::string& line) {
  const std::string text = line + "\n";
  send_all(fd, std::as_bytes(std::span(text)), after_seconds(5));
}

// Obeys rank 0 until rank 0 is gone.
int run_other(const RankSetup& setup) {
  if (std::getenv("STUB_CRASH_EARLY") != nullptr && setup.rank == 1) ::raise(SIGSEGV);
  const Fd rank_0 = connect_to(Address::parse(setup.conductor), std::nullopt, after_seconds(10));
  send_line(rank_0.get(), json::write(introduction(setup)));
  while (const auto line = read_line(rank_0.get(), 100, after_seconds(60))) {
    if (*line == "crash") ::raise(SIGKILL);
    if (*line == "exit") return 3;
    if (*line == "hang")
      for (;;) ::pause();
  }
  return 0;
}

std::map<Rank, Fd> meet(const RankSetup& setup, const Fd& listener) {
  std::map<Rank, Fd> others;
  json::Array met{introduction(setup)};
  std::map<std::string, json::Array> nodes{{setup.host, {setup.rank}}};
  LineBuffer reports;
  while (std::cmp_less(met.size(), setup.ranks)) {
    pollfd waiting[2]{{listener.get(), POLLIN, 0}, {setup.reports_fd, POLLIN, 0}};
    if (::poll(waiting, 2, 20'000) <= 0) std::exit(1);
    if (waiting[1].revents != 0) {
      const auto line = read_line(setup.reports_fd, 4096, after_seconds(1));
      std::cout << line.value_or("") << std::endl;
      if (line) std::exit(1);
    }
    if (waiting[0].revents == 0) continue;
    Fd other(::accept(listener.get(), nullptr, nullptr));
    const json::Value hello = json::parse(read_line(other.get(), 4096, after_seconds(5)).value());
    others[static_cast<Rank>(hello.at("rank").integer())] = std::move(other);
    nodes[hello.at("host").string()].push_back(hello.at("rank"));
    met.push_back(hello);
  }
  json::Array named;
  for (const auto& [name, ranks] : nodes) named.push_back(json::Object{{"name", name}, {"ranks", ranks}});
  say(json::Object{{"event", "ready"}, {"ranks", setup.ranks}, {"nodes", named}, {"met", met}});
  return others;
}

volatile sig_atomic_t signals_seen = 0;

int run_rank_0(const RankSetup& setup) {
  struct sigaction action {};
  action.sa_handler = [](int) { signals_seen = signals_seen + 1; };
  for (const int number : {SIGINT, SIGTERM}) ::sigaction(number, &action, nullptr);
  const Fd listener = listen_on(Address::of_interface(setup.interface));
  const std::string address = local_address(listener.get()).text();
  say(json::Object{{"event", "listening"}, {"address", address}});
  const std::string line = address + "\n";
  if (::write(setup.address_fd, line.data(), line.size()) < 0) return 1;
  std::map<Rank, Fd> others = meet(setup, listener);
  for (;;) {
    pollfd waiting[2]{{setup.requests_fd, POLLIN, 0}, {setup.reports_fd, POLLIN, 0}};
    if (::poll(waiting, 2, 60'000) < 0) {
      say(json::Object{{"event", "interrupted"}, {"signals", static_cast<int>(signals_seen)}});
      return 130;
    }
    if (waiting[1].revents != 0)
      std::cout << read_line(setup.reports_fd, 4096, after_seconds(1)).value_or("") << std::endl;
    if (waiting[0].revents == 0) continue;
    const auto request = read_line(setup.requests_fd, 4096, after_seconds(1));
    if (!request) break;
    const json::Value value = json::parse(*request);
    if (value.find("do") == nullptr) continue;  // the conductor's address, meant for other nodes
    const std::string what = value.at("do").string();
    if (what == "end") break;
    send_line(others.at(static_cast<Rank>(value.at("rank").integer())).get(), what);
  }
  say(json::Object{{"event", "ended"}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return crosscut::launch::node_main_with(argc - 1, argv + 1, [](const RankSetup& setup) {
    return setup.rank == 0 ? run_rank_0(setup) : run_other(setup);
  });
}
