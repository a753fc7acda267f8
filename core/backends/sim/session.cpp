#include "backends/sim/session.hpp"

#include <poll.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/file.hpp"
#include "conduct/job_queue.hpp"
#include "smpi/engine_choice.hpp"

namespace crosscut::backends::sim {
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

void wait_for_input(conduct::JobQueue& jobs, bool requests_may_come) {
  std::array<pollfd, 2> waiting{pollfd{jobs.signals_fd(), POLLIN, 0}, pollfd{jobs.requests_fd(), POLLIN, 0}};
  if (::poll(waiting.data(), requests_may_come ? 2 : 1, -1) < 0 && errno != EINTR)
    throw_errno("waiting for requests");
}

void serve(const session::SessionConfig& config, conduct::JobQueue& jobs) {
  const auto hear = [&jobs] {
    jobs.receive_signals();
    jobs.receive_requests();
  };
  SimulatedRanks::Setup setup{
      .ranks = config.ranks, .ranks_per_host = config.ranks_per_host, .description = {}, .idle = hear};
  auto network = network_of(config, setup.description);
  const networks::Network& described = *network;  // of which max_min becomes the owner
  SimulatedRanks max_min(std::move(network), std::move(setup));
  smpi::SmpiRanks smpi(max_min, described, config.ranks_per_host, hear);
  smpi::EngineChoice ranks(max_min, smpi);
  jobs.events().say(max_min.ready_event());
  for (hear(); !jobs.over(); hear()) {
    if (!jobs.do_next(ranks)) wait_for_input(jobs, true);
  }
}

}  // namespace

int serve_simulation(const session::SessionConfig& config, int requests_fd, int events_fd) {
  conduct::JobQueue jobs(requests_fd, events_fd, config.place);
  try {
    serve(config, jobs);
  } catch (const UsageError& error) {
    jobs.events().error(error.what(), true);
    jobs.note_status(2);
  } catch (const std::exception& error) {
    jobs.events().error(error.what(), false);
    jobs.note_status(jobs.interrupted() ? 130 : 1);
  }
  if (jobs.interrupted()) jobs.note_status(130);
  jobs.events().say(json::Object{{"event", "ended"}});
  return jobs.exit_status();
}

}  // namespace crosscut::backends::sim
