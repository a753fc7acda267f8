// Events reach their reader whole and in order, and wait for it without blocking their writer.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "base/json.hpp"
#include "conduct/session_lines.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::conduct;

namespace {

// A pipe with a small buffer.
Pipe make_narrow_pipe() {
  Pipe pipe = make_pipe();
  REQUIRE(::fcntl(pipe.write.get(), F_SETPIPE_SZ, 4096) > 0);
  return pipe;
}

std::string read_to_end(const Fd& fd) {
  std::string all;
  std::array<char, 4096> buffer;
  for (ssize_t got; (got = ::read(fd.get(), buffer.data(), buffer.size())) > 0;)
    all.append(buffer.data(), static_cast<std::size_t>(got));
  return all;
}

std::vector<std::string> words(const std::string& lines) {
  std::vector<std::string> words;
  std::size_t from = 0;
  for (auto end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', from)) {
    words.push_back(json::parse(lines.substr(from, end - from)).at("event").string());
    from = end + 1;
  }
  CHECK_EQ(from, lines.size());
  return words;
}

json::Object progress() { return {{"event", "progress"}, {"rate", 1.5}}; }

}  // namespace

TEST(a_stalled_reader_blocks_nobody_and_misses_only_progress) {
  Pipe pipe = make_narrow_pipe();
  constexpr int many = 10'000;
  std::string all;
  std::thread reader;
  {
    Events events(pipe.write.get());
    for (int i = 0; i < many; ++i) events.progress(progress());
    for (int i = 0; i < 100; ++i) events.warn("something");
    for (int i = 0; i < many; ++i) events.progress(progress());
    reader = std::thread([&] { all = read_to_end(pipe.read); });
    events.ended();
  }
  pipe.write.reset();
  reader.join();
  const auto said = words(all);
  CHECK_EQ(std::count(said.begin(), said.end(), "warning"), 100);
  CHECK(std::count(said.begin(), said.end(), "progress") < many);
  CHECK_EQ(said.back(), "ended");
}

TEST(progress_is_written_if_the_reader_has_room) {
  Pipe pipe = make_narrow_pipe();
  {
    Events events(pipe.write.get());
    for (std::size_t i = 0; i < Events::most_waiting; ++i) events.progress(progress());
    events.ended();
  }
  pipe.write.reset();
  CHECK_EQ(words(read_to_end(pipe.read)).size(), Events::most_waiting + 1);
}

TEST(a_reader_that_is_gone_is_noticed_without_waiting) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe = make_narrow_pipe();
  pipe.read.reset();
  Events events(pipe.write.get());
  events.warn("nobody hears this");
  events.ended();
  CHECK(events.broken());
}
