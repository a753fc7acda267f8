// The conductor of live ranks: what it records, and what it reports of a lost rank.
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/line_buffer.hpp"
#include "launch/launch.hpp"
#include "session/messages.hpp"
#include "session/remote_ranks.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::session;

namespace {

constexpr double patience_seconds = 20;

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "crosscut-session-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

void write_line(int fd, const json::Value& value) {
  const auto line = json::write(value) + "\n";
  REQUIRE(::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
}

json::Value attributes_of(const std::filesystem::path& run) {
  return json::parse(read_file(run / "zarr.json", 1 << 20)).at("attributes");
}

// Lets ranks 0 to 2 join, and rank 1 complain about rank 2 just before rank 2's connection ends. Returns the
// events that the conductor wrote.
std::vector<std::string> events_of_a_complaint_and_a_loss() {
  RankSetup setup;
  setup.ranks = setup.local_ranks = 3;
  setup.secret = std::string(32, '5');
  setup.timeout_seconds = patience_seconds;
  const Pipe requests = make_pipe();
  Pipe events = make_pipe();
  setup.requests_fd = requests.read.get();
  setup.events_fd = events.write.get();
  {
    const auto host = make_conductor(setup, Address::parse("127.0.0.1:0"));
    std::thread conducting([&] { host->run(); });
    std::vector<Fd> ranks;
    for (Rank rank = 0; rank < setup.ranks; ++rank) {
      ranks.push_back(connect_authenticated(host->address(), {}, setup.secret, {Purpose::control, rank},
                                            after_seconds(patience_seconds)));
      const Joined joined{.node = "node", .facts = R"({"name": "n1"})", .listeners = {"127.0.0.1:1"}};
      send_frame(ranks.back().get(), FrameType::joined, pack(joined), after_seconds(patience_seconds));
    }
    for (const auto& rank : ranks)
      CHECK(receive_frame(rank.get(), after_seconds(patience_seconds)).type == FrameType::welcome);
    const auto complaint = pack(Complaint{2, "connection reset"});
    send_frame(ranks[1].get(), FrameType::complaint, complaint, after_seconds(patience_seconds));
    ::shutdown(ranks[2].get(), SHUT_WR);
    conducting.join();
  }
  events.write.reset();
  return LineBuffer().read(events.read.get());
}

}  // namespace

TEST(each_job_of_a_session_records_how_its_own_ranks_waited) {
  const Folder folder;
  const Pipe requests = make_pipe(), events = make_pipe();
  for (const char* wait : {"poll", "block"}) {
    const json::Object job{
        {"pattern", "aapc"}, {"backend", "null"}, {"sizes", json::Array{1}},        {"repetitions", 1},
        {"warm_up", 0},      {"wait", wait},      {"out", (folder / wait).string()}};
    write_line(requests.write.get(), json::Object{{"do", "run"}, {"job", job}});
  }
  write_line(requests.write.get(), json::Object{{"do", "end"}});
  SessionConfig config;
  config.ranks = config.count = 2;
  config.backend = "null";
  config.secret = std::string(64, '0');
  CHECK_EQ(launch::launch(config, {requests.read.get(), events.write.get(), -1}, run_rank), 0);
  for (const char* wait : {"poll", "block"}) {
    const auto attributes = attributes_of(folder / wait);
    CHECK_EQ(attributes.at("wait").string(), wait);
    CHECK_EQ(attributes.at("sync").at("wait").string(), wait);
  }
}

// Both may reach the conductor at once, so that the server knows of the loss before the conductor does.
TEST(a_rank_that_is_lost_just_when_another_complains_of_it_is_named) {
  for (int round = 0; round < 20; ++round) {
    std::string all;
    for (const auto& line : events_of_a_complaint_and_a_loss()) all += line + "\n";
    CHECK(all.find("rank 2 on node n1 was lost: ") != std::string::npos);
  }
}
