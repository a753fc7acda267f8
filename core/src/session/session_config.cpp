#include "session/session_config.hpp"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "base/error.hpp"
#include "base/json_members.hpp"
#include "base/sha256.hpp"
#include "base/words.hpp"
#include "program/parameters.hpp"

namespace crosscut::session {
namespace {

constexpr Rank ranks_max = 1 << 20;
constexpr int fanout_max = 1024;
constexpr std::size_t path_bytes_max = 4096;
constexpr std::size_t secret_bytes = 32;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

int value_of(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

// Checks and returns a host name. It becomes a word of a command line, so it must not look like an option or
// contain characters that are special to a shell.
std::string host_name(const json::Value& value) {
  const std::string& name = value.string();
  const bool fine =
      !name.empty() && name.size() <= 255 && name.front() != '-' && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("._-@:%").find(c) != std::string_view::npos;
      });
  if (!fine) throw UsageError("`host`: '" + name + "' is not a valid host name");
  return name;
}

std::string network_name(const json::Value& value) {
  const std::string& name = value.string();
  if (name.empty() || name.size() > path_bytes_max || name.find('\0') != std::string::npos)
    throw UsageError("`network` must be a path or a name of 1 to " + std::to_string(path_bytes_max) +
                     " bytes");
  return name;
}

double timeout_of(const json::Value& value) { return json::real_within(value, 0.1, 86400); }

std::string secret_of(const json::Value& value) { return checked_secret(value.string()); }

void read_pin(SessionConfig& config, const json::Value& value) {
  config.pin = value.is_boolean() ? value.boolean() : true;
  if (value.is_boolean()) return;
  for (const std::int32_t core : program::parse_ranks(value.string())) config.pin_cores.push_back(core);
}

json::Value write_pin(const SessionConfig& config) {
  if (config.pin_cores.empty()) return config.pin;
  std::vector<std::string> cores;
  for (const int core : config.pin_cores) cores.push_back(std::to_string(core));
  return joined(cores, ",");
}

int fanout_of(const json::Value& value) {
  return static_cast<int>(std::clamp<std::int64_t>(value.integer(), 1, fanout_max));
}

using json::member;
using json::within;

const json::Members<TreeHost> tree_host_members{
    member("host", &TreeHost::host, host_name),
    member("first_rank", &TreeHost::first_rank, within(1, ranks_max)),
    member("count", &TreeHost::count, within(1, ranks_max)),
};

std::vector<TreeHost> tree_hosts_of(const json::Value& value) {
  std::vector<TreeHost> hosts;
  for (const json::Value& host : value.array()) {
    json::read_members(hosts.emplace_back(), host, tree_host_members, "a host of the tree");
    if (hosts.back().host.empty()) throw UsageError("a host of the tree has no `host`");
  }
  return hosts;
}

json::Array tree_hosts_json(const std::vector<TreeHost>& hosts) {
  json::Array list;
  for (const TreeHost& host : hosts) list.emplace_back(json::write_members(host, tree_host_members));
  return list;
}

const json::Members<Tree> tree_members{
    member("command", &Tree::command),
    member("core", &Tree::core),
    member("fanout", &Tree::fanout, fanout_of),
    member("hosts", &Tree::hosts, tree_hosts_of, tree_hosts_json),
};

Tree tree_of(const json::Value& value) {
  Tree tree;
  json::read_members(tree, value, tree_members, "tree");
  if (tree.command.empty())
    throw UsageError(
        "the tree has no `command`; give the command that reaches other nodes, such as [\"ssh\"]");
  if (tree.core.empty())
    throw UsageError("the tree has no `core`; give the path of crosscut-core on the other nodes");
  return tree;
}

json::Value tree_json(const std::optional<Tree>& tree) {
  return tree ? json::write_members(*tree, tree_members) : json::Value();
}

const json::Members<SessionConfig> members{
    member("ranks", &SessionConfig::ranks, within(0, ranks_max)),
    member("first_rank", &SessionConfig::first_rank, within(0, ranks_max)),
    member("count", &SessionConfig::count, within(1, ranks_max)),
    member("host", &SessionConfig::host, host_name),
    member("secret", &SessionConfig::secret, secret_of),
    member("backend", &SessionConfig::backend),
    member("interface", &SessionConfig::interface),
    member("control_interface", &SessionConfig::control_interface),
    member("towards", &SessionConfig::towards),
    member("conductor", &SessionConfig::conductor),
    member("place", &SessionConfig::place),
    member("timeout_seconds", &SessionConfig::timeout_seconds, timeout_of),
    {"pin", read_pin, write_pin},
    member("oversubscribed", &SessionConfig::oversubscribed, json::from_json<bool>),
    member("layout", &SessionConfig::layout, json::list_within<Rank>(1, ranks_max)),
    member("launcher", &SessionConfig::launcher),
    member("network", &SessionConfig::network, network_name),
    member("ranks_per_host", &SessionConfig::ranks_per_host, within(1, ranks_max)),
    member("reports", &SessionConfig::reports),
    member("tree", &SessionConfig::tree, tree_of, tree_json),
};

// Returns the values of members that a line omits. A `count` of 0 means all ranks from `first_rank` on.
SessionConfig defaults() {
  SessionConfig config;
  config.count = 0;
  return config;
}

// Checks that this node and its tree start no rank twice and, if this node has rank 0, start all ranks.
void check_ranks(const SessionConfig& config) {
  if (config.count < 1 || config.first_rank + config.count > config.ranks)
    throw UsageError("first_rank " + std::to_string(config.first_rank) + " and count " +
                     std::to_string(config.count) + " do not fit in the session's " +
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

std::int64_t number_of_slurm(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr)
    throw UsageError(std::string(name) + " is not set: this process was not started by slurm");
  return program::parse_integer(text);
}

}  // namespace

std::string checked_secret(const std::string& hex) {
  if (hex.size() != 2 * secret_bytes || !std::ranges::all_of(hex, is_hex))
    throw UsageError("`secret` must be 64 hex digits");
  return hex;
}

std::string secret_from_environment() {
  char* text = std::getenv("CROSSCUT_SECRET");
  if (text == nullptr) return {};
  const std::string secret = checked_secret(text);
  ::explicit_bzero(text, secret.size());  // /proc/PID/environ shows this memory
  ::unsetenv("CROSSCUT_SECRET");
  return secret;
}

std::string random_secret() {
  std::array<std::uint8_t, secret_bytes> bytes{};
  fill_random(bytes);
  return hex(bytes);
}

std::string bytes_of_secret(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(value_of(hex[i]) * 16 + value_of(hex[i + 1])));
  return bytes;
}

SessionConfig parse_session(std::string_view line) {
  const json::Value value = json::parse(line, {.bytes = configuration_bytes_max, .depth = 8});
  SessionConfig config = defaults();
  json::read_members(config, value, members, "the session's first line");
  if (config.ranks == 0 && config.network.empty())
    throw UsageError(
        "`ranks` is 0 (as many as fit on the network), but no `network` is named; give one of them");
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
  json::Object object = json::write_members(config, members);
  const json::Object unset = json::write_members(defaults(), members);
  std::erase_if(object, [&](const auto& one) { return std::ranges::find(unset, one) != unset.end(); });
  return object;
}

void apply_layout(SessionConfig& config) {
  if (config.layout.empty()) return;
  if (config.launcher != "slurm")
    throw UsageError("there is no launcher '" + config.launcher + "'; known: slurm");
  const std::int64_t processes = number_of_slurm("SLURM_NTASKS");
  const std::int64_t index = number_of_slurm("SLURM_PROCID");
  const auto nodes = static_cast<std::int64_t>(config.layout.size());
  if (processes != nodes || index < 0 || index >= nodes)
    throw UsageError("this is process " + std::to_string(index) + " of " + std::to_string(processes) +
                     " (SLURM_PROCID, SLURM_NTASKS), but the layout has " + std::to_string(nodes) +
                     " nodes; start one process per node");
  config.first_rank = 0;
  for (std::int64_t node = 0; node < index; ++node)
    config.first_rank += config.layout[static_cast<std::size_t>(node)];
  config.count = config.layout[static_cast<std::size_t>(index)];
  if (const char* host = std::getenv("SLURMD_NODENAME")) config.host = host_name(json::Value(host));
}

std::optional<std::string> read_line(int fd, std::size_t bytes_max, Deadline deadline,
                                     std::string_view content) {
  const auto patience_seconds = std::lround(milliseconds_left(deadline) / 1000.0);
  std::string line;
  for (;;) {
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, milliseconds_left(deadline));
    if (ready < 0 && errno != EINTR) throw_errno("wait for a line on standard input");
    if (ready == 0)
      throw UsageError("the launcher did not send " + std::string(content) +
                       ", one complete line on standard input, within " + std::to_string(patience_seconds) +
                       " s");
    if (ready < 0) continue;
    char byte = 0;
    const ssize_t got = ::read(fd, &byte, 1);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) throw_errno("read standard input");
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
