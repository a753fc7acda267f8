// A backend that computes instead of measuring: any pattern on a described network, under a virtual clock.
// The model and its sources: docs/reference/simulator.md.
#include <poll.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/file.hpp"
#include "conduct/job_queue.hpp"
#include "session/session_config.hpp"
#include "smpi/smpi_ranks.hpp"

namespace crosscut::backends::sim {
namespace {

const std::array parameters{
    program::Parameter{
        .name = "engine",
        .kind = program::Parameter::Kind::choice,
        .initial = "max-min",
        .help = "how times are computed: by crosscut's own max-min shares, or by SimGrid's SMPI, where ranks "
                "are MPI processes",
        .choices = {"max-min", "smpi"}},
    program::Parameter{.name = "eager",
                       .kind = program::Parameter::Kind::bytes,
                       .unit = "bytes",
                       .initial = "64KiB",
                       .help = "largest message that is sent before its receive is posted"},
    program::Parameter{
        .name = "knee",
        .kind = program::Parameter::Kind::real,
        .initial = "0",
        .help =
            "sharpness p of the soft minimum of link and share, (link^-p + (c share)^-p)^(-1/p); 0: plain "
            "max-min",
        .maximum = 1000},
    program::Parameter{.name = "knee-scale",
                       .kind = program::Parameter::Kind::real,
                       .initial = "1",
                       .help = "with a knee: factor c by which a flow's share is scaled",
                       .minimum = 0.1,
                       .maximum = 1},
    program::Parameter{
        .name = "share-spread",
        .kind = program::Parameter::Kind::real,
        .initial = "0",
        .help = "coefficient of variation of flows' shares of a common capacity; 0: even shares",
        .maximum = 2},
    program::Parameter{.name = "spread-seed",
                       .kind = program::Parameter::Kind::integer,
                       .initial = "1",
                       .help = "same seed, same shares, on every machine",
                       .minimum = 0},
};

constexpr std::int64_t most_description_bytes = std::int64_t{16} << 20;

// Returns the description used if no network is named: only the hosts' own links limit messages. The latency
// of a microsecond from host to host, typical of fast networks today, gives every message a time above zero.
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

void wait_for_input(const conduct::JobQueue& jobs) {
  std::array<pollfd, 2> waiting{pollfd{jobs.signals_fd(), POLLIN, 0}, pollfd{jobs.requests_fd(), POLLIN, 0}};
  if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) throw_errno("wait for requests");
}

void serve(const session::SessionConfig& config, conduct::JobQueue& jobs) {
  const auto hear = [&jobs] {
    jobs.receive_signals();
    jobs.receive_requests();
  };
  SimulatedRanks::Setup setup{
      .ranks = config.ranks, .ranks_per_host = config.ranks_per_host, .description = {}, .idle = hear};
  auto network = network_of(config, setup.description);
  smpi::SmpiRanks ranks(std::move(network), std::move(setup));
  jobs.events().say(ranks.ready_event());
  for (hear(); !jobs.over(); hear()) {
    if (!jobs.do_next(ranks)) wait_for_input(jobs);
  }
}

// Serves the session until it ends and returns the exit status. Reports failures as events.
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

}  // namespace

extern const program::BackendInfo info;
const program::BackendInfo info{.name = "sim",
                                .summary = "computes times on a described network, under a virtual clock",
                                .parameters = parameters,
                                .live = false,
                                .repetitions = 1,
                                .serve = serve_simulation};
}  // namespace crosscut::backends::sim
