#include "replay/replay_trace.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/words.hpp"

namespace crosscut::replay {
namespace {

constexpr std::size_t ranks_max = 1 << 16;
struct Line {
  const std::filesystem::path& file;
  std::uint32_t number = 0;
  std::vector<std::string_view> words{};

  [[noreturn]] void fail(const std::string& why) const {
    throw UsageError(file.string() + ":" + std::to_string(number) + ": " + why);
  }
  void split(std::string_view text) {
    words.clear();
    constexpr std::string_view blanks = " \t\r";
    for (auto at = text.find_first_not_of(blanks); at != text.npos; at = text.find_first_not_of(blanks, at)) {
      const auto end = std::min(text.find_first_of(blanks, at), text.size());
      words.push_back(text.substr(at, end - at));
      at = end;
    }
  }
  // Returns -1 if there is no such word or it is not a number.
  template <typename Number>
  Number number_at(std::size_t at) const {
    const auto word = at < words.size() ? words[at] : std::string_view();
    Number value = -1;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && stop == word.data() + word.size() ? value : -1;
  }
  std::int32_t whole(std::size_t at, std::int64_t end) const {
    const auto value = number_at<std::int64_t>(at);
    if (value < 0 || value >= end)
      fail("word " + std::to_string(at + 1) + " is not a whole number from 0 to " + std::to_string(end - 1));
    return static_cast<std::int32_t>(value);
  }
  double amount() const {
    const auto value = number_at<double>(2);
    if (words.size() != 3 || !(value >= 0 && value <= std::numeric_limits<double>::max()))
      fail("needs exactly one amount, 0 or more");
    return value;
  }
};

constexpr std::int64_t int_end = std::numeric_limits<std::int32_t>::max();

Action message(const Line& line, Action::Kind kind, Rank rank, Rank ranks) {
  if (line.words.size() != 5) line.fail("a message needs the other rank, a tag and a count of bytes");
  Action action{
      .kind = kind, .peer = line.whole(2, ranks), .tag = line.whole(3, int_end), .line = line.number};
  if (action.peer == rank) line.fail("the rank sends to itself, which a replay does not support");
  action.amount = line.whole(4, int_end);
  return action;
}

Action wait(const Line& line, Rank rank, Rank ranks) {
  if (line.words.size() != 5) line.fail("wait needs source, destination and tag");
  const auto source = line.whole(2, ranks), destination = line.whole(3, ranks);
  if ((source == rank) == (destination == rank))
    line.fail("this rank must be either the source or the destination of the message that it waits for");
  return {.kind = Action::Kind::wait,
          .of_send = source == rank,
          .peer = source == rank ? destination : source,
          .tag = line.whole(4, int_end),
          .line = line.number};
}

// Returns nothing for actions that take no time.
std::optional<Action> parse(const Line& line, Rank rank, Rank ranks) {
  using Kind = Action::Kind;
  const auto name = line.words[1];
  if (name == "compute" || name == "sleep")
    return Action{
        .kind = name == "sleep" ? Kind::sleep : Kind::compute, .line = line.number, .amount = line.amount()};
  if (name == "send") return message(line, Kind::send, rank, ranks);
  if (name == "isend") return message(line, Kind::start_send, rank, ranks);
  if (name == "recv") return message(line, Kind::receive, rank, ranks);
  if (name == "irecv") return message(line, Kind::start_receive, rank, ranks);
  if (name == "wait") return wait(line, rank, ranks);
  if (name == "waitall") return Action{.kind = Kind::wait_all, .line = line.number};
  constexpr std::array<std::string_view, 7> silent{"init",       "finalize", "test",    "comm_size",
                                                   "comm_split", "comm_dup", "location"};
  if (std::find(silent.begin(), silent.end(), name) == silent.end())
    line.fail("unknown action " + shown(name));
  return std::nullopt;
}

std::ifstream open(const std::filesystem::path& file) {
  std::error_code error;
  // Reading a device or a pipe could block or never end.
  if (!std::filesystem::is_regular_file(file, error))
    throw UsageError(file.string() + " is not a regular file");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw UsageError("cannot read " + file.string());
  return stream;
}

std::vector<Action> read_rank(const std::filesystem::path& file, Rank rank, Rank ranks) {
  auto stream = open(file);
  std::vector<Action> actions;
  Line line{.file = file};
  for (std::string text; std::getline(stream, text);) {
    ++line.number;
    line.split(text);
    if (line.words.empty() || line.words[0].starts_with("#")) continue;
    if (line.words.size() < 2 || line.whole(0, ranks) != rank)
      line.fail("no action of rank " + std::to_string(rank) + ": " + shown(text));
    if (auto action = parse(line, rank, ranks)) actions.push_back(*action);
  }
  return actions;
}

}  // namespace

ReplayTrace read_replay_trace(const std::filesystem::path& index) {
  ReplayTrace trace;
  auto stream = open(index);
  for (std::string name; std::getline(stream, name);) {
    if (name.empty()) continue;
    if (trace.files.size() == ranks_max)
      throw UsageError(index.string() + ": more than " + std::to_string(ranks_max) + " ranks");
    trace.files.push_back(index.parent_path() / name);
  }
  if (trace.files.empty()) throw UsageError(index.string() + ": names no files of ranks");
  const auto ranks = static_cast<Rank>(trace.files.size());
  for (Rank rank = 0; rank < ranks; ++rank)
    trace.actions.push_back(read_rank(trace.files[static_cast<std::size_t>(rank)], rank, ranks));
  return trace;
}

}  // namespace crosscut::replay
