// The lines that a session reads besides its jobs: its configuration, rank 0's address, and reports of other
// nodes. The first byte selects one.
#include "conduct/session_lines.hpp"
#include "launch/node_report.hpp"
#include "session/resolve_interface.hpp"
#include "session/session_config.hpp"
#include "tests/fuzz.hpp"

using namespace crosscut;
using namespace crosscut::conduct;
using namespace crosscut::launch;
using namespace crosscut::session;
using namespace crosscut::tests;

namespace {

void configuration(std::string_view line) {
  const SessionConfig config = parse_session(line);
  hold(config.ranks >= 1 && config.first_rank >= 0 && config.count >= 1, "there are ranks");
  if (config.layout.empty())
    hold(std::int64_t{config.first_rank} + config.count <= config.ranks, "a node's ranks are among all");
  hold(config.secret.empty() || config.secret.size() == 64, "a secret is whole");
  hold(bytes_of_secret(config.secret).size() == config.secret.size() / 2, "a secret has its bytes");
  const std::string written = json::write(to_json(config));
  hold(json::write(to_json(parse_session(written))) == written, "a configuration travels unchanged");
}

void report(std::string_view line) {
  const auto read = parse_node_report(line);
  if (!read) return;
  hold(read->first_rank >= 0 && read->count >= 1, "a report is about ranks");
  static_cast<void>(describe(*read));
  const auto again = parse_node_report(to_line(*read));
  hold(again && to_line(*again) == to_line(*read), "a report travels unchanged");
}

void address(std::string_view text) {
  const Address read = Address::parse(text);
  hold(Address::parse(read.text()).text() == read.text(), "an address is written as it is read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto line = text_of(data + 1, size - 1);
  accepts([&] {
    switch (data[0] % 6) {
      case 0:
        return configuration(line);
      case 1:
        return static_cast<void>(parse_conductor_line(line));
      case 2:
        return report(line);
      case 3:
        return address(line);
      case 4:
        // Not "auto", which would ask a name server.
        if (line != "auto") static_cast<void>(resolve_interface(line, ""));
        return;
      default:
        return static_cast<void>(checked_secret(std::string(line)));
    }
  });
  return 0;
}
