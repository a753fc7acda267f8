#include "backends/sim_session.hpp"

#include <poll.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/file.hpp"
#include "conduct/job_desk.hpp"
#include "smpi/engine_choice.hpp"

namespace crosscut::backends {
namespace {

constexpr std::int64_t most_description_bytes = std::int64_t{16} << 20;

// Where no network is named: nothing but the links of the hosts themselves is in the way. A microsecond from
// host to host, as fast networks of today have it, so that no message takes no time.
std::string crossbar_text(Rank ranks, int ranks_per_host) {
  const auto hosts = (ranks + ranks_per_host - 1) / ranks_per_host;
  return "name = \"crossbar\"\n"
         "title = \"One switch that is never the bottleneck, links of 100 Gbit/s and 500 ns\"\n\n"
         "[generator]\n"
         "kind = \"crossbar\"\n"
         "hosts = " +
         std::to_string(hosts) +
         "\n"
         "rate = \"100 Gbit/s\"\n\n"
         "[link]\n"
         "latency = \"500 ns\"\n";
}

std::unique_ptr<networks::Network> network_of(const session::SessionConfig& config,
                                              std::string& description) {
  if (config.network.empty()) {
    description = crossbar_text(config.ranks, std::max(1, config.ranks_per_host));
    return networks::parse_network(description, "");
  }
  auto network = networks::read_network(config.network);
  description = read_file(network->file, most_description_bytes);
  return network;
}

void wait_for_input(conduct::JobDesk& desk, bool requests_may_come) {
  std::array<pollfd, 2> waiting{pollfd{desk.signals_fd(), POLLIN, 0}, pollfd{desk.requests_fd(), POLLIN, 0}};
  if (::poll(waiting.data(), requests_may_come ? 2 : 1, -1) < 0 && errno != EINTR)
    throw_errno("waiting for requests");
}

void serve(const session::SessionConfig& config, conduct::JobDesk& desk) {
  const auto hear = [&desk] {
    desk.hear_signals();
    desk.hear_requests();
  };
  SimulatedRanks::Setup setup{
      .ranks = config.ranks, .ranks_per_host = config.ranks_per_host, .description = {}, .idle = hear};
  auto network = network_of(config, setup.description);
  const networks::Network& described = *network;  // of which max_min becomes the owner
  SimulatedRanks max_min(std::move(network), std::move(setup));
  smpi::SmpiRanks smpi(max_min, described, config.ranks_per_host, hear);
  smpi::EngineChoice ranks(max_min, smpi);
  desk.events().say(max_min.ready_event());
  for (hear(); !desk.over(); hear()) {
    if (!desk.do_next(ranks)) wait_for_input(desk, true);
  }
}

}  // namespace

int serve_simulation(const session::SessionConfig& config, int requests_fd, int events_fd) {
  conduct::JobDesk desk(requests_fd, events_fd, config.place);
  try {
    serve(config, desk);
  } catch (const UsageError& error) {
    desk.events().error(error.what(), true);
    desk.note_status(2);
  } catch (const std::exception& error) {
    desk.events().error(error.what(), false);
    desk.note_status(desk.interrupted() ? 130 : 1);
  }
  if (desk.interrupted()) desk.note_status(130);
  desk.events().say(json::Object{{"event", "ended"}});
  return desk.exit_status();
}

}  // namespace crosscut::backends
