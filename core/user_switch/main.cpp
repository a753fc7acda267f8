// crosscut-switch: a network in user space between the TAP devices of emulated hosts.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/version.hpp"
#include "user_switch/emulation.hpp"
#include "user_switch/lists.hpp"
#include "user_switch/options.hpp"

namespace {

using namespace crosscut;
using namespace crosscut::user_switch;

constexpr std::int64_t list_bytes_max = std::int64_t{16} << 20;
constexpr std::int64_t vertices_max = 100'000;  // a network with a TAP for each host is far smaller

struct TapText {
  std::string text, path;
  int input = STDIN_FILENO;  // the emulation ends when it closes; -1: it has closed already
};

// Reads up to an empty line and leaves the rest unread. The end of standard input later ends the emulation.
TapText read_standard_input() {
  TapText list{.text = {}, .path = "standard input"};
  char byte = 0;
  for (;;) {
    const auto got = ::read(STDIN_FILENO, &byte, 1);
    if (got < 0) throw_errno("read the list of TAPs from standard input");
    if (got == 0) list.input = -1;
    if (got == 0 || (byte == '\n' && (list.text.empty() || list.text.back() == '\n'))) return list;
    if (std::ssize(list.text) == list_bytes_max)
      throw UsageError("standard input: the list of TAPs is too long");
    list.text += byte;
  }
}

// Takes framing and MTU from the network unless given. The network's framing includes the Ethernet header,
// which here is part of the frame.
void take_from(const networks::Network& network, Options& options) {
  const auto& protocol = network.protocol;
  if (!options.framing_given && protocol.mtu > 0 && protocol.framing >= static_cast<int>(header_bytes))
    options.how.framing.added_bytes = protocol.framing - static_cast<int>(header_bytes);
  constexpr int mtu_ethernet = 1500, mtu_most = 65'521;
  if (options.tap.mtu == 0)
    options.tap.mtu = protocol.mtu > 0 ? std::min(protocol.mtu, mtu_most) : mtu_ethernet;
}

// Rejects a buffer that holds no full frame: full frames would vanish silently. Usually a unit is missing.
void refuse_small_buffer(const Options& options) {
  const auto frame = options.tap.mtu + static_cast<std::int64_t>(header_bytes);
  if (const auto given = options.how.buffer.bytes_max; given < frame)
    throw UsageError("--buffer " + std::to_string(given) + ": too small for a full frame of this network (" +
                     std::to_string(frame) + " bytes); give a larger size with a unit, such as 64KiB");
}

// Slows the network down: divides its rates. Latencies stay.
void dilate(networks::Graph& graph, double times) {
  for (auto& link : graph.link_classes) {
    link.rate /= times;
    link.back_rate /= times;
  }
  for (auto& each : graph.switch_classes) each.capacity /= times;
}

int emulate(Options options) {
  const auto network = networks::read_network(options.network, vertices_max);
  take_from(*network, options);
  refuse_small_buffer(options);
  dilate(network->graph, options.dilation);
  Wiring wiring(*network, options.how);
  const auto list = options.taps == "-"
                        ? read_standard_input()
                        : TapText{.text = read_file(options.taps, list_bytes_max), .path = options.taps};
  Emulation emulation(wiring, parse_taps(list.text, list.path, *network, wiring), options.tap, options.pace,
                      list.input);
  if (!options.faults.empty())
    emulation.set_fault_source([&] {
      return parse_faults(read_file(options.faults, list_bytes_max), options.faults, *network, wiring);
    });
  say(json::Object{{"event", "ready"},
                   {"network", network->name},
                   {"taps", static_cast<std::int64_t>(emulation.taps())},
                   {"mtu", options.tap.mtu},
                   {"realtime", emulation.is_realtime()},
                   {"framing", options.how.framing.added_bytes}});
  emulation.run(options.seconds);
  say(emulation.statistics());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  try {
    const auto options = parse_options(argc, argv);
    if (options.help) std::fputs(usage, stdout);
    if (options.version) std::printf("crosscut-switch %s\n", std::string(version).c_str());
    return options.help || options.version ? 0 : emulate(options);
  } catch (const UsageError& error) {
    std::fprintf(stderr, "crosscut-switch: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "crosscut-switch: %s\n", error.what());
    return 1;
  }
}
