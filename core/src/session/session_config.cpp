#include "session/session_config.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

#include "base/error.hpp"
#include "program/parameters.hpp"

namespace crosscut::session {
namespace {

constexpr Rank ranks_max = 1 << 20;
constexpr int fanout_max = 1024;
constexpr std::size_t path_bytes_max = 4096;

Rank rank_in(const json::Value& value, std::string_view name, Rank minimum) {
  const std::int64_t number = value.integer();
  if (number < minimum || number > ranks_max)
    throw UsageError("`" + std::string(name) + "` is " + std::to_string(number) + "; it must be from " +
                     std::to_string(minimum) + " to " + std::to_string(ranks_max));
  return static_cast<Rank>(number);
}

// Returns a host's name. It becomes a word of a command line, so it must not look like an option or contain
// characters special to a shell.
std::string host_name(const json::Value& value) {
  const std::string& name = value.string();
  const bool fine =
      !name.empty() && name.size() <= 255 && name.front() != '-' && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("._-@:%").find(c) != std::string_view::npos;
      });
  if (!fine) throw UsageError("`host`: '" + name + "' is no host name");
  return name;
}

std::string network_name(const json::Value& value) {
  const std::string& name = value.string();
  if (name.empty() || name.size() > path_bytes_max || name.find('\0') != std::string::npos)
    throw UsageError("`network` must be a path or a name of 1 to " + std::to_string(path_bytes_max) +
                     " bytes");
  return name;
}

double timeout_of(const json::Value& value) {
  const double seconds = value.number();
  if (!(seconds >= 0.1 && seconds <= 86400))
    throw UsageError("`timeout_seconds` must be from 0.1 to 86400 (a day)");
  return seconds;
}

void parse_pin(const json::Value& value, SessionConfig& config) {
  config.pin = value.is_boolean() ? value.boolean() : true;
  if (value.is_boolean()) return;
  for (const std::int32_t core : program::parse_ranks(value.string())) config.pin_cores.push_back(core);
  if (config.pin_cores.empty()) throw UsageError("`pin` must be true, false or cores such as \"0,2,4-7\"");
}

std::vector<Rank> parse_layout(const json::Value& value) {
  std::vector<Rank> layout;
  for (const json::Value& count : value.array()) layout.push_back(rank_in(count, "layout", 1));
  return layout;
}

using Reader = std::function<void(const json::Value&)>;

// Applies each member's reader; an unknown member is an error, a wrong type names its member.
void read_members(const json::Value& value, const std::map<std::string_view, Reader>& readers,
                  std::string_view where) {
  for (const auto& [name, member] : value.object()) {
    const auto reader = readers.find(name);
    if (reader == readers.end()) throw UsageError(std::string(where) + ": there is no member `" + name + "`");
    try {
      reader->second(member);
    } catch (const UsageError& error) {
      throw UsageError(std::string(where) + ", `" + name + "`: " + error.what());
    }
  }
}

TreeHost parse_tree_host(const json::Value& value) {
  TreeHost host;
  read_members(value,
               {{"host", [&](const json::Value& v) { host.host = host_name(v); }},
                {"first_rank", [&](const json::Value& v) { host.first_rank = rank_in(v, "first_rank", 1); }},
                {"count", [&](const json::Value& v) { host.count = rank_in(v, "count", 1); }}},
               "a host of the tree");
  if (host.host.empty()) throw UsageError("a host of the tree has no `host`");
  return host;
}

Tree parse_tree(const json::Value& value) {
  Tree tree;
  const auto fanout = [&](const json::Value& v) {
    tree.fanout = static_cast<int>(std::clamp<std::int64_t>(v.integer(), 1, fanout_max));
  };
  const auto command = [&](const json::Value& v) {
    for (const json::Value& word : v.array()) tree.command.push_back(word.string());
  };
  const auto hosts = [&](const json::Value& v) {
    for (const json::Value& host : v.array()) tree.hosts.push_back(parse_tree_host(host));
  };
  read_members(value,
               {{"command", command},
                {"core", [&](const json::Value& v) { tree.core = v.string(); }},
                {"fanout", fanout},
                {"hosts", hosts}},
               "tree");
  if (tree.command.empty()) throw UsageError("`command` is missing: how other nodes are reached (ssh)");
  if (tree.core.empty()) throw UsageError("`core` is missing: the path of crosscut-core on other nodes");
  return tree;
}

// Checks that every rank is started exactly once: by this node, by one of its tree, or (layout) by another
// node.
void check_ranks(const SessionConfig& config) {
  if (config.count < 1 || config.first_rank + config.count > config.ranks)
    throw UsageError("first_rank " + std::to_string(config.first_rank) + " and count " +
                     std::to_string(config.count) + " go beyond the session's " +
                     std::to_string(config.ranks) + " ranks");
  if (!config.tree) return;
  std::vector<std::pair<Rank, Rank>> taken{{config.first_rank, config.count}};
  for (const TreeHost& host : config.tree->hosts) taken.emplace_back(host.first_rank, host.count);
  std::ranges::sort(taken);
  Rank next = taken.front().first;
  for (const auto& [first, count] : taken) {
    if (first < next)
      throw UsageError("rank " + std::to_string(first) + " is started by two hosts of the tree");
    if (first > next && config.has_conductor())
      throw UsageError("rank " + std::to_string(next) + " is started by no host of the tree");
    next = first + count;
  }
  if (next > config.ranks || (config.has_conductor() && next < config.ranks))
    throw UsageError("the hosts start " + std::to_string(next) + " ranks, but the session has " +
                     std::to_string(config.ranks));
}

void check_layout(const SessionConfig& config) {
  std::int64_t sum = 0;
  for (const Rank count : config.layout) sum += count;
  if (sum != config.ranks)
    throw UsageError("`layout` holds " + std::to_string(sum) + " ranks, but `ranks` is " +
                     std::to_string(config.ranks));
  if (config.launcher.empty()) throw UsageError("`layout` needs `launcher`, such as \"slurm\"");
}

json::Value to_json(const Tree& tree) {
  json::Array command(tree.command.begin(), tree.command.end());
  json::Array hosts;
  for (const TreeHost& host : tree.hosts)
    hosts.push_back(
        json::Object{{"host", host.host}, {"first_rank", host.first_rank}, {"count", host.count}});
  return json::Object{{"command", std::move(command)},
                      {"core", tree.core},
                      {"fanout", tree.fanout},
                      {"hosts", std::move(hosts)}};
}

// The environment variables that hold the index of this process, the number of processes, and the name of
// this node.
struct Launcher {
  std::string_view name;
  const char* index;
  const char* processes;
  const char* host;
};
constexpr Launcher launchers[] = {{"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURMD_NODENAME"}};

std::int64_t number_in_environment(const char* name, std::string_view launcher) {
  const char* text = std::getenv(name);
  if (text == nullptr)
    throw UsageError(std::string(name) + " is not set: this process was not started by " +
                     std::string(launcher));
  return program::parse_integer(text);
}

}  // namespace

SessionConfig parse_session(std::string_view line) {
  const json::Value value = json::parse(line, {.bytes = configuration_bytes_max, .depth = 8});
  SessionConfig config;
  config.count = 0;
  const auto text = [](std::string& target) {
    return [&target](const json::Value& v) { target = v.string(); };
  };
  const std::map<std::string_view, Reader> readers{
      {"ranks", [&](const json::Value& v) { config.ranks = rank_in(v, "ranks", 0); }},
      {"first_rank", [&](const json::Value& v) { config.first_rank = rank_in(v, "first_rank", 0); }},
      {"count", [&](const json::Value& v) { config.count = rank_in(v, "count", 1); }},
      {"host", [&](const json::Value& v) { config.host = host_name(v); }},
      {"secret", [&](const json::Value& v) { config.secret = checked_secret(v.string()); }},
      {"backend", text(config.backend)},
      {"interface", text(config.interface)},
      {"towards", text(config.towards)},
      {"conductor", text(config.conductor)},
      {"place", text(config.place)},
      {"timeout_seconds", [&](const json::Value& v) { config.timeout_seconds = timeout_of(v); }},
      {"pin", [&](const json::Value& v) { parse_pin(v, config); }},
      {"oversubscribed", [&](const json::Value& v) { config.oversubscribed = v.boolean(); }},
      {"layout", [&](const json::Value& v) { config.layout = parse_layout(v); }},
      {"launcher", text(config.launcher)},
      {"network", [&](const json::Value& v) { config.network = network_name(v); }},
      {"ranks_per_host",
       [&](const json::Value& v) { config.ranks_per_host = rank_in(v, "ranks_per_host", 1); }},
      {"reports", [&](const json::Value& v) { config.reports = v.boolean(); }},
      {"tree", [&](const json::Value& v) { config.tree = parse_tree(v); }}};
  if (!value.is_object()) throw UsageError("the session's first line must be a JSON object");
  read_members(value, readers, "the session's first line");
  if (config.ranks == 0 && config.network.empty())
    throw UsageError("`ranks` is 0, which means all that fit a network, but no `network` is named");
  if (config.ranks == 0) return config;
  if (config.count == 0) config.count = config.ranks - config.first_rank;
  if (!config.layout.empty())
    check_layout(config);
  else
    check_ranks(config);
  if (!config.conductor.empty()) Address::parse(config.conductor);
  return config;
}

json::Value to_json(const SessionConfig& config) {
  json::Value value = json::Object{{"ranks", config.ranks},
                                   {"first_rank", config.first_rank},
                                   {"secret", config.secret},
                                   {"backend", config.backend},
                                   {"interface", config.interface},
                                   {"place", config.place},
                                   {"timeout_seconds", config.timeout_seconds},
                                   {"reports", config.reports}};
  if (config.count > 0) value.set("count", config.count);
  const auto set_if = [&value](std::string_view name, const std::string& text) {
    if (!text.empty()) value.set(name, text);
  };
  set_if("host", config.host);
  set_if("towards", config.towards);
  set_if("conductor", config.conductor);
  set_if("launcher", config.launcher);
  set_if("network", config.network);
  if (config.ranks_per_host > 0) value.set("ranks_per_host", config.ranks_per_host);
  if (config.oversubscribed) value.set("oversubscribed", *config.oversubscribed);
  if (!config.layout.empty()) value.set("layout", json::Array(config.layout.begin(), config.layout.end()));
  std::string cores;
  for (const int core : config.pin_cores) cores += (cores.empty() ? "" : ",") + std::to_string(core);
  value.set("pin", cores.empty() ? json::Value(config.pin) : json::Value(cores));
  if (config.tree) value.set("tree", to_json(*config.tree));
  return value;
}

void apply_layout(SessionConfig& config) {
  if (config.layout.empty()) return;
  const auto launcher = std::ranges::find(launchers, config.launcher, &Launcher::name);
  if (launcher == std::end(launchers))
    throw UsageError("there is no launcher '" + config.launcher + "'; known: slurm");
  const std::int64_t processes = number_in_environment(launcher->processes, launcher->name);
  const std::int64_t index = number_in_environment(launcher->index, launcher->name);
  const auto nodes = static_cast<std::int64_t>(config.layout.size());
  if (processes != nodes || index < 0 || index >= nodes)
    throw UsageError("this is process " + std::to_string(index) + " of " + std::to_string(processes) + " (" +
                     launcher->index + ", " + launcher->processes + "), but the layout has " +
                     std::to_string(nodes) + " nodes; start one process a node");
  config.first_rank = 0;
  for (std::int64_t node = 0; node < index; ++node)
    config.first_rank += config.layout[static_cast<std::size_t>(node)];
  config.count = config.layout[static_cast<std::size_t>(index)];
  if (const char* host = std::getenv(launcher->host)) config.host = host_name(json::Value(host));
}

std::optional<std::string> read_line(int fd, std::size_t bytes_max, Deadline deadline) {
  std::string line;
  for (;;) {
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, milliseconds_left(deadline));
    if (ready < 0 && errno != EINTR) throw_errno("waiting for a line on standard input");
    if (ready == 0) throw UsageError("no complete line came on standard input in time");
    if (ready < 0) continue;
    char byte = 0;
    const ssize_t got = ::read(fd, &byte, 1);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) throw_errno("reading standard input");
    if (got == 0 && line.empty()) return std::nullopt;
    if (got == 0) throw UsageError("standard input ended in the middle of a line");
    if (byte == '\n') return line;
    if (line.size() == bytes_max)
      throw UsageError("a line on standard input is longer than " + std::to_string(bytes_max) + " bytes");
    line.push_back(byte);
  }
}

std::string parse_conductor_line(std::string_view line) {
  const json::Value value = json::parse(line, {.bytes = 4096, .depth = 4});
  const std::string address = value.at("conductor").string();
  Address::parse(address);
  return address;
}

}  // namespace crosscut::session
