#include "user_switch/options.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/words.hpp"
#include "program/parameters.hpp"

namespace crosscut::user_switch {

const char* const usage = R"(usage: crosscut-switch NETWORK --taps FILE|- [OPTION ...]

Emulates a network between TAP devices: every frame passes the described links and switches,
with their delays, queues and losses. NETWORK is a network file or a name of the catalogue.

  --taps FILE|-        the hosts' TAP devices, one JSON object per line; -: standard input, up to an empty line
  --faults FILE        faulty cables, one JSON object per line; read again at SIGUSR2 (default: none)
  --forwarding store|cut   forward a frame once it is whole (default), or from its header on
  --queues output|input    where switches queue: at the output (default), or at the input, with head-of-line blocking
  --buffer BYTES       size of each queue, at least a full frame; frames that do not fit are lost (default 128KiB)
  --buffer-frames N    also limits each queue to N frames (default: no limit)
  --framing BYTES      bytes on the wire in addition to the frame (default: the network's, else 24: IEEE 802.3)
  --dilate N           divide all rates by N; latencies stay the same (default 1)
  --mtu BYTES          MTU of the TAPs (default: the network's, else 1500)
  --host-queue FRAMES  most frames that wait in a host, whose connections take turns; as many again wait in its
                       adapter (default 500)
  --checksums          let hosts compute and check checksums, which costs processor time (default: they skip them)
  --bundle FRAMES      frames of a TCP connection that hosts send and receive in one piece; 1: one by one
                       (default: as many as their link carries in 1 ms, at least 4)
  --spin TIME          busy-wait for the last TIME of each wait while few frames are in flight (default 15us)
  --quantum TIME       shortest time between two looks for work (default 20us); with many frames in flight
                       at least 100us, or a quarter of a full frame on the slowest link if that is longer
  --no-realtime        run at normal priority (default: real-time priority, if allowed)
  --seconds S          end after S seconds (default: at SIGTERM, SIGINT, SIGHUP or the end of standard input)

Prints {"event": "ready"} when all TAPs are there; statistics at SIGUSR1 and at the end,
{"event": "faults"} at SIGUSR2.
Exit status: 0 fine; 1 a TAP or the machine failed; 2 wrong usage.
)";

namespace {

using program::parse_bytes, program::parse_integer;

template <class Number>
void put(Number& to, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most)
    throw UsageError("must be from " + std::to_string(least) + " to " + std::to_string(most));
  to = static_cast<Number>(value);
}

double time_up_to(std::string_view text, double most_seconds) {
  const double seconds = program::parse_seconds(text);
  if (seconds < 0 || seconds > most_seconds)
    throw UsageError("must be a time from 0 to " +
                     (most_seconds < 1 ? std::to_string(std::lround(most_seconds * 1e3)) + " ms"
                                       : std::to_string(std::lround(most_seconds)) + " s"));
  return seconds;
}

double dilation_of(std::string_view text) {
  const double times = program::parse_real(text);
  if (!(times >= 1 && times <= 1e9)) throw UsageError("must be from 1 to 1e9");
  return times;
}

bool second_of(std::string_view text, std::string_view first, std::string_view second) {
  if (text != first && text != second)
    throw UsageError("must be " + std::string(first) + " or " + std::string(second));
  return text == second;
}

struct Option {
  std::string_view name;
  void (*take)(std::string_view value, Options& options);
  bool has_value = true;
};

constexpr std::int64_t huge = std::int64_t{1} << 40;
constexpr int mtu_least = 68, mtu_most = 65'521;  // RFC 791; the limit of a TAP, 65535 less the header

const Option table[] = {
    {"--taps", [](auto value, auto& to) { to.taps = value; }},
    {"--faults", [](auto value, auto& to) { to.faults = value; }},
    {"--forwarding", [](auto value, auto& to) { to.how.cut_through = second_of(value, "store", "cut"); }},
    {"--queues", [](auto value, auto& to) { to.how.input_queued = second_of(value, "output", "input"); }},
    {"--buffer", [](auto value, auto& to) { put(to.how.buffer.bytes_max, parse_bytes(value), 1, huge); }},
    {"--buffer-frames",
     [](auto value, auto& to) { put(to.how.buffer.frames_max, parse_integer(value), 1, huge); }},
    {"--framing",
     [](auto value, auto& to) {
       put(to.how.framing.added_bytes, parse_integer(value), 0, 1024);
       to.framing_given = true;
     }},
    {"--mtu", [](auto value, auto& to) { put(to.tap.mtu, parse_bytes(value), mtu_least, mtu_most); }},
    {"--host-queue",
     [](auto value, auto& to) { put(to.tap.queue_frames, parse_integer(value), 1, 100'000); }},
    {"--checksums", [](auto, auto& to) { to.tap.checksums = true; }, false},
    {"--spin", [](auto value, auto& to) { to.pace.spin_seconds = time_up_to(value, 0.01); }},
    {"--quantum", [](auto value, auto& to) { to.pace.quantum_seconds = time_up_to(value, 0.01); }},
    {"--no-realtime", [](auto, auto& to) { to.pace.realtime = false; }, false},
    {"--dilate", [](auto value, auto& to) { to.dilation = dilation_of(value); }},
    {"--bundle",
     [](auto value, auto& to) { put(to.pace.bundle_frames, parse_integer(value), 1, bundle_frames_max); }},
    {"--seconds", [](auto value, auto& to) { to.seconds = time_up_to(value, 1e7); }},
    {"--help", [](auto, auto& to) { to.help = true; }, false},
    {"--version", [](auto, auto& to) { to.version = true; }, false},
};

const Option& option_named(std::string_view name) {
  const auto found = std::ranges::find(table, name == "-h" ? "--help" : name, &Option::name);
  if (found != std::end(table)) return *found;
  std::vector<std::string_view> names;
  for (const auto& option : table) names.push_back(option.name);
  throw UsageError("there is no option " + shown(name) + suggestion(name, names));
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  options.tap.mtu = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (!name.starts_with("-") || name == "-") {
      if (!options.network.empty()) throw UsageError("give one network, not also " + shown(name));
      options.network = name;
      continue;
    }
    const auto& option = option_named(name);
    if (option.has_value && i + 1 == argc) throw UsageError(std::string(name) + " needs a value");
    const std::string_view value = option.has_value ? argv[++i] : "";
    try {
      option.take(value, options);
    } catch (const UsageError& error) {
      throw UsageError(std::string(name) + " " + shown(value) + ": " + error.what());
    }
  }
  if (options.help || options.version) return options;
  if (options.network.empty()) throw UsageError("no network is named; see crosscut-switch --help");
  if (options.taps.empty())
    throw UsageError("--taps FILE or --taps - is needed: it says which TAP is which host's");
  return options;
}

}  // namespace crosscut::user_switch
