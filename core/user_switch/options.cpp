#include "user_switch/options.hpp"

#include <array>
#include <limits>
#include <string_view>

#include "base/error.hpp"
#include "base/words.hpp"
#include "program/parameters.hpp"

namespace crosscut::user_switch {

const char* const usage = R"(usage: crosscut-switch NETWORK --taps FILE|- [OPTION ...]

Emulates a network between TAP devices: every frame takes its way with the times, queues and losses that the
description says. NETWORK is a network file or a name of the catalogue.

  --taps FILE|-        which TAP is which host's: a JSON object a line; -: standard input, up to an empty line
  --faults FILE        cables that are bad: a JSON object a line; read again at SIGUSR2 (default: none are)
  --forwarding store|cut   whole frames first (default), or on from the header
  --queues output|input    where switches queue: at the way out (default), or at the way in, with head-of-line blocking
  --buffer BYTES       of each queue, at least a full frame; what does not fit is lost (default 128KiB)
  --buffer-frames N    also so many frames at most (default: no such bound)
  --framing BYTES      on the wire beside the frame (default: the network's, else 24: IEEE 802.3)
  --dilate N           all rates divided by N; times that are no rates stay (default 1)
  --mtu BYTES          of the TAPs (default: the network's, else 1500)
  --host-queue FRAMES  that wait in a host, connections in turn, and as many again in its adapter (default 500)
  --checksums          hosts compute and check checksums, which costs time (default: they need not)
  --bundle FRAMES      of a TCP connection that hosts hand over, and are handed, in one piece; 1: each by itself
                       (default: what their link carries in 1 ms, at least 4)
  --spin TIME          the end of each wait is not slept away, while little is under way (default 15us)
  --quantum TIME       looks at the world no more often (default 20us); five times as long when busy
  --no-realtime        runs like any program (default: before all others, where that is allowed)
  --seconds S          ends after it (default: at SIGTERM, SIGINT or the end of standard input)

Prints {"event": "ready"} when all TAPs are there; statistics at SIGUSR1 and at the end,
{"event": "faults"} at SIGUSR2.
Exit status: 0 fine; 1 a TAP or the machine failed; 2 wrong usage.
)";

namespace {

constexpr std::string_view names[] = {
    "--taps",        "--faults", "--forwarding", "--queues",    "--buffer", "--buffer-frames",
    "--framing",     "--mtu",    "--host-queue", "--checksums", "--spin",   "--quantum",
    "--no-realtime", "--dilate", "--bundle",     "--seconds",   "--help",   "--version"};

std::int64_t in_range(std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most)
    throw UsageError("from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

double time_up_to(std::string_view text, double most_seconds) {
  const double seconds = program::parse_seconds(text);
  if (seconds < 0 || seconds > most_seconds)
    throw UsageError("from 0 to " + std::to_string(most_seconds) + " s");
  return seconds;
}

double dilation_of(std::string_view text) {
  const double times = program::parse_real(text);
  if (!(times >= 1 && times <= 1e9)) throw UsageError("from 1 to 1e9");
  return times;
}

bool second_of(std::string_view text, std::string_view first, std::string_view second) {
  if (text != first && text != second)
    throw UsageError("either " + std::string(first) + " or " + std::string(second));
  return text == second;
}

void read_model(std::string_view name, std::string_view value, Options& options) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  auto& how = options.how;
  if (name == "--forwarding") how.cut_through = second_of(value, "store", "cut");
  if (name == "--queues") how.input_queued = second_of(value, "output", "input");
  if (name == "--buffer") how.buffer.bytes_max = in_range(program::parse_bytes(value), 1, most);
  if (name == "--buffer-frames") how.buffer.frames_max = in_range(program::parse_integer(value), 1, most);
  if (name == "--framing") {
    how.framing.added_bytes = in_range(program::parse_integer(value), 0, 1024);
    options.framing_given = true;
  }
}

void read_pace(std::string_view name, std::string_view value, Options& options) {
  constexpr int mtu_least = 68, mtu_most = 65'521;  // RFC 791; TUN_MAX_MTU less the header
  if (name == "--taps") options.taps = value;
  if (name == "--faults") options.faults = value;
  if (name == "--mtu")
    options.tap.mtu = static_cast<int>(in_range(program::parse_bytes(value), mtu_least, mtu_most));
  if (name == "--host-queue")
    options.tap.queue_frames = static_cast<int>(in_range(program::parse_integer(value), 1, 100'000));
  if (name == "--bundle")
    options.pace.bundle_frames =
        static_cast<int>(in_range(program::parse_integer(value), 1, bundle_frames_max));
  if (name == "--spin") options.pace.spin_seconds = time_up_to(value, 0.01);
  if (name == "--quantum") options.pace.quantum_seconds = time_up_to(value, 0.01);
  if (name == "--dilate") options.dilation = dilation_of(value);
  if (name == "--seconds") options.seconds = time_up_to(value, 1e7);
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  options.tap.mtu = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--help" || name == "-h") {
      options.help = true;
    } else if (name == "--version") {
      options.version = true;
    } else if (name == "--no-realtime") {
      options.pace.realtime = false;
    } else if (name == "--checksums") {
      options.tap.checksums = true;
    } else if (!name.starts_with("-") || name == "-") {
      if (!options.network.empty()) throw UsageError("one network, not also " + shown(name));
      options.network = name;
    } else if (std::ranges::find(names, name) == std::end(names)) {
      throw UsageError("there is no option " + shown(name) + suggestion(name, names));
    } else if (i + 1 == argc) {
      throw UsageError(std::string(name) + " needs a value");
    } else {
      const std::string_view value = argv[++i];
      try {
        read_model(name, value, options);
        read_pace(name, value, options);
      } catch (const UsageError& error) {
        throw UsageError(std::string(name) + " " + shown(value) + ": " + error.what());
      }
    }
  }
  if (options.help || options.version) return options;
  if (options.network.empty()) throw UsageError("no network is named; see crosscut-switch --help");
  if (options.taps.empty()) throw UsageError("--taps FILE or --taps - is needed: which TAP is which host's");
  return options;
}

}  // namespace crosscut::user_switch
