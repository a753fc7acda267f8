// Traced programs in virtual time: each rule of the model, with times computed by hand, and errors of damaged
// traces.
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "replay/replay.hpp"
#include "tests/check.hpp"

namespace {

using namespace crosscut;
using namespace crosscut::backends::sim;
using namespace crosscut::networks;
using namespace crosscut::replay;

// Each rank has a link out and a link in, with its own rate.
class Star final : public Paths {
 public:
  explicit Star(const std::vector<double>& links) {
    for (const auto link : links) capacities_.insert(capacities_.end(), {link, link});
  }
  std::span<const double> capacities() const override { return capacities_; }
  double path(const Route& route, std::vector<CapacityIndex>& uses) const override {
    if (route.source / ranks_per_host != route.destination / ranks_per_host)
      uses.insert(uses.end(), {2 * route.source, 2 * route.destination + 1});
    return latency;
  }
  double send_overhead(Rank) const override { return send; }
  double receive_overhead(Rank) const override { return receive; }
  double latency = 0, send = 0, receive = 0;
  Rank ranks_per_host = 1;

 private:
  std::vector<double> capacities_;
};

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "crosscut-replay-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

using Lines = std::vector<std::string>;

ReplayTrace written(const std::vector<Lines>& ranks) {
  const Folder folder;
  std::ofstream index(folder.path / "trace.txt");
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto name = "rank-" + std::to_string(rank) + ".tit";
    index << name << "\n";
    std::ofstream file(folder.path / name);
    for (const auto& line : ranks[rank]) file << rank << " " << line << "\n";
  }
  index.close();
  return read_replay_trace(folder.path / "trace.txt");
}

std::vector<double> ended(const Paths& paths, const std::vector<Lines>& ranks,
                          const ReplayModel& model = {}) {
  const auto trace = written(ranks);
  return Replay(trace, paths, model).run().ended;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

std::string refusal(const Lines& lines) {
  try {
    written({lines, {}});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(a_message_takes_overheads_latency_and_its_bytes_at_the_rate) {
  Star star({100, 100});
  star.latency = 2, star.send = 0.5, star.receive = 0.25;
  const auto times = ended(star, {{"send 1 0 1000"}, {"recv 0 0 1000"}}, {.header_bytes = 100});
  CHECK(near(times[0], 0.5));  // the socket takes all of it
  CHECK(near(times[1], 0.5 + 11 + 2 + 0.25));
}

TEST(ranks_in_another_order_use_the_links_of_their_places) {
  const Star star({100, 100, 10});
  const std::vector<Lines> two{{"send 1 0 1000"}, {"recv 0 0 1000"}};
  CHECK(near(ended(star, two)[1], 10));
  CHECK(near(ended(OrderedPaths(star, {0, 2}), two)[1], 100));
  CHECK(near(ended(OrderedPaths(star, {1, 0}), two)[1], 10));
}

TEST(every_noise_seed_draws_other_delays) {
  const Star star({100, 100});
  const std::vector<Lines> two{{"send 1 0 1000"}, {"recv 0 0 1000"}};
  const auto first = ended(star, two, {.noise_seconds = 1}),
             second = ended(star, two, {.noise_seconds = 1, .noise_seed = 1});
  CHECK(first[1] > 10 && second[1] > 10 && !near(first[1], second[1]));
}

TEST(short_frames_cost_their_full_framing) {
  const Star star({100, 100});
  // 150 bytes in two frames of up to 100, each with 25 of framing: 200 on the wire. A full frame's payload
  // share is 100 / 125.
  const ReplayModel model{.segment_bytes = 100, .framing_bytes = 25};
  CHECK(near(ended(star, {{"send 1 0 150"}, {"recv 0 0 1"}}, model)[1], 200 * 0.8 / 100));
}

TEST(messages_of_a_connection_follow_one_another) {
  const Star star({100, 100});
  const auto times =
      ended(star, {{"isend 1 0 1000", "isend 1 1 1000"}, {"recv 0 0 1000", "send 0 2 100", "recv 0 1 1000"}});
  CHECK(near(times[1], 20));
  // The first arrives after 10, not only when both have shared the link.
  CHECK(near(ended(star, {{"isend 1 0 1000", "isend 1 1 1000"}, {"recv 0 0 1000"}})[1], 10));
}

TEST(a_message_travels_before_its_receive_is_posted) {
  const Star star({100, 100});
  CHECK(near(ended(star, {{"send 1 0 1000"}, {"compute 10e9", "recv 0 0 1000"}})[1], 10));
}

TEST(a_long_message_waits_for_its_receive_and_the_handshake) {
  Star star({100, 100});
  star.latency = 1;
  const ReplayModel model{.eager_bytes = 999};
  const auto times = ended(star, {{"send 1 0 1000"}, {"compute 10e9", "recv 0 0 1000"}}, model);
  CHECK(near(times[1], 10 + 1 + 10 + 1));
}

TEST(a_host_s_connections_take_turns_at_its_link) {
  const Star star({100, 100, 100});
  const std::vector<Lines> two{
      {"isend 1 0 1000", "compute 4e9", "isend 2 0 1000"}, {"recv 0 0 1"}, {"recv 0 0 1"}};
  const auto times = ended(star, two);
  CHECK(near(times[1], 16));  // from 4 on at half the rate
  CHECK(near(times[2], 20));
}

TEST(a_sender_continues_once_the_rest_is_in_its_buffer) {
  const Star star({100, 100});
  const ReplayModel model{.send_buffer_bytes = 300};
  const auto times = ended(star, {{"send 1 0 1000"}, {"recv 0 0 1000"}}, model);
  CHECK(near(times[0], 7));
  CHECK(near(times[1], 10));
  // Bytes still in the buffer count for the next message.
  CHECK(near(ended(star, {{"send 1 0 1000", "send 1 0 100"}, {"recv 0 0 1", "recv 0 0 1"}}, model)[0], 8));
}

TEST(the_sender_of_a_longer_message_waits_for_the_answer) {
  Star star({100, 100});
  star.latency = 1, star.send = 0.5, star.receive = 0.25;
  const auto sender = [&](const std::string& bytes) {
    return ended(star, {{"send 1 0 " + bytes}, {"recv 0 0 1"}}, {.inject_bytes = 100})[0];
  };
  CHECK(near(sender("100"), 0.5));
  CHECK(near(sender("200"), 0.5 + 2 + 1 + 1 + 0.25));  // back, and received like a message
}

TEST(a_message_is_answered_only_while_its_receiver_waits_in_mpi) {
  const Star star({100, 100, 100});
  const ReplayModel model{.inject_bytes = 0};
  const auto sender = [&](const Lines& receiver, const Lines& third = {}) {
    return ended(star, {{"send 1 0 100"}, receiver, third}, model)[0];
  };
  CHECK(near(sender({"recv 0 0 1"}), 1));
  CHECK(near(sender({"compute 5e9", "recv 0 0 1"}), 5));
  CHECK(near(sender({"irecv 0 0 1", "compute 5e9", "wait 0 1 0"}), 5));
  CHECK(near(sender({"recv 2 0 1", "recv 0 0 1"}, {"compute 4e9", "send 1 0 0"}), 1));  // in another receive
  CHECK(near(sender({"send 2 0 100", "recv 0 0 1"}, {"compute 4e9", "recv 1 0 1"}), 1));  // in a send
  CHECK(near(sender({"compute 1e9", "irecv 0 0 1", "compute 4e9", "waitall"}), 5));
  CHECK(near(sender({"irecv 0 0 1"}), 1));  // in MPI_Finalize
}

TEST(ranks_of_one_host_do_not_wait_for_answers) {
  Star star({100, 100});
  star.ranks_per_host = 2;
  CHECK(near(ended(star, {{"send 1 0 100"}, {"compute 5e9", "recv 0 0 1"}}, {.inject_bytes = 0})[0], 0));
}

TEST(started_sends_are_answered_together_at_their_wait) {
  Star star({100, 100, 100});
  star.latency = 3;
  const std::vector<Lines> two{
      {"isend 1 0 100", "isend 2 0 100", "compute 1e9", "waitall"}, {"recv 0 0 1"}, {"recv 0 0 1"}};
  CHECK(near(ended(star, two, {.inject_bytes = 0})[0], 2 + 3 + 3));
  const std::vector<Lines> late{{"isend 1 0 100", "compute 20e9", "wait 0 1 0"}, {"recv 0 0 1"}};
  star.receive = 0.5;
  CHECK(near(ended(star, late, {.inject_bytes = 0})[0], 20));  // the answer is there
}

TEST(an_answer_follows_what_its_connection_has_yet_to_send) {
  Star star({100, 100, 100});
  star.latency = 1;
  const auto sender = [&](const std::string& peer) {
    return ended(star, {{"send 1 1 100"}, {"isend " + peer + " 0 1000", "recv 0 1 1"}, {}},
                 {.inject_bytes = 99})[0];
  };
  CHECK(near(sender("0"), 10 + 1));
  CHECK(near(sender("2"), 1 + 1 + 1));  // what goes to another host does not delay it
}

TEST(a_link_is_shared_evenly_unless_queues_lose_nothing) {
  const Star star({50, 20, 20});
  const std::vector<Lines> two{{"send 2 0 1000"}, {"send 2 0 500"}, {"irecv 0 0 1", "recv 1 0 1"}};
  CHECK(near(ended(star, two)[2], 50));  // 10 per second each
  const auto deep = ended(star, two, {.deep_queues = true});
  // The fast sender gets 5/7 until it has sent 1000, after 70; by then 100 of 500 are left.
  CHECK(near(deep[2], 70 + 100.0 / 20));
}

TEST(pairs_that_finish_early_take_from_those_that_do_not) {
  // All-to-all in pairs of 100 bytes, two hosts at 50 and two at 20: the fast pair is in its second step
  // while the slow pair is in its first, and their messages interleave.
  const Star star({50, 50, 20, 20});
  std::vector<Lines> ranks(4);
  for (int rank = 0; rank < 4; ++rank)
    for (int step = 1; step < 4; ++step) {
      const auto other = std::to_string(rank ^ step), self = std::to_string(rank);
      ranks[static_cast<std::size_t>(rank)].insert(
          ranks[static_cast<std::size_t>(rank)].end(),
          {"irecv " + other + " 0 100", "isend " + other + " 0 100", "wait " + other + " " + self + " 0",
           "wait " + self + " " + other + " 0"});
    }
  // With a rendezvous each waits for the other: three times 100 at 20.
  CHECK(near(ended(star, ranks, {.eager_bytes = 0, .send_buffer_bytes = 0})[2], 15));
  // The slow pair's first step ends at 2 + 6 / 10 * 10 = 8 with even shares, at 10 with deep queues.
  CHECK(near(ended(star, ranks, {.send_buffer_bytes = 0})[0], 18));
  CHECK(near(ended(star, ranks, {.deep_queues = true})[2], 25));
}

TEST(alone_and_at_infinite_rates_only_requested_delays_take_time) {
  Star star({100, 100, 100});
  star.latency = 1, star.send = 2;
  const std::vector<Lines> two{
      {"send 2 0 1000"}, {"send 2 0 1000"}, {"irecv 0 0 1", "recv 1 0 1", "waitall"}};
  CHECK(near(ended(star, two)[2], 2 + 20 + 1));
  CHECK(near(ended(star, two, {.alone = true})[2], 2 + 10 + 1));
  const auto infinite = std::numeric_limits<double>::infinity();
  CHECK(near(ended(star, two, {.bandwidth = infinite, .alone = true})[2], 3));
  CHECK(near(ended(star, two, {.latency = 0, .bandwidth = infinite, .overhead = 0, .alone = true})[2], 0));
}

TEST(noise_is_added_to_received_messages_and_is_reproducible) {
  const Star star({1e9, 1e9});
  Lines out, in;
  for (int i = 0; i < 4000; ++i) out.push_back("send 1 0 8"), in.push_back("recv 0 0 8");
  const ReplayModel model{.noise_seconds = 0.5};
  const auto times = ended(star, {out, in}, model);
  CHECK(times[1] > 0.95 * 4000 * 0.5 && times[1] < 1.05 * 4000 * 0.5);
  CHECK(times[0] == 0);
  CHECK(times[1] == ended(star, {out, in}, model)[1]);
}

TEST(ranks_that_wait_for_each_other_are_named_with_file_and_line) {
  const Star star({100, 100});
  const std::vector<Lines> both{{"init", "recv 1 0 8", "send 1 0 8"}, {"recv 0 0 8", "send 0 0 8"}};
  try {
    ended(star, both);
    CHECK(false);
  } catch (const RunError& error) {
    const std::string said = error.what();
    CHECK(said.find("rank 0 waits to receive") != said.npos);
    CHECK(said.find("rank-0.tit:2") != said.npos);
    CHECK(said.find("rank-1.tit:1") != said.npos);
  }
}

TEST(damaged_lines_are_refused_with_their_place) {
  for (const std::string line :
       {"send 1 0", "send 9 0 8", "send 0 0 8", "send 1 0 -8", "send 1 x 8", "bcast 8 0", "compute nan",
        "compute", "compute -1", "wait 1 1 0", "recv 1 0 8 9", "send 1 0 99999999999999999999"})
    CHECK(refusal({"init", line}).find("rank-0.tit:2: ") != std::string::npos);
  CHECK(refusal({"init", "compute 1e9", "send 1 0 8", "finalize"}).empty());
}

}  // namespace
