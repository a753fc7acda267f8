// A program whose data is served by processes beside the computing ones, like GAMESS over its Distributed
// Data Interface (Bode, Hill, Benjegerdes, USENIX FREENIX 2004, table 1). There the fastest network did not
// win where computing processes and servers shared processors: an MPI that polls while it waits takes the
// processor from the process that computes.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "data-server/distributed_array.hpp"
#include "data-server/roles.hpp"
#include "data-server/server.hpp"
#include "data-server/settings.hpp"
#include "data-server/tasks.hpp"
#include "program/application.hpp"
#include "program/computing.hpp"
#include "program/processors.hpp"

namespace crosscut::data_server {
namespace {

using npb::Figure;
using npb::Outcome;

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr int trials = 20;

// Results of one rank; NaN or 0 where its role gives none.
struct Seen {
  double seconds = 0;
  Waits waits{};
  double computing_seconds = none;
  double computing_alone_seconds = none;  // time of the same computing while servers sleep
  double server_share = none;
  std::int64_t elements_sent = 0;
  std::uint64_t checksum = 0, expected_checksum = 0;
};

// Returns the time of one task, the fastest of several trials: what the processor can do.
double seconds_alone(const Settings& settings) {
  std::vector<double> block(static_cast<std::size_t>(settings.block * settings.block), 1.0);
  double fastest_seconds = std::numeric_limits<double>::infinity();
  for (int trial = 0; trial < trials; ++trial) {
    const double begin_seconds = MPI_Wtime();
    program::compute(block, settings.rounds());
    fastest_seconds = std::min(fastest_seconds, MPI_Wtime() - begin_seconds);
  }
  // Using the result also keeps a compiler from removing the trials.
  return block.front() == 1.0 ? fastest_seconds : none;
}

Seen compute(Communicator& world, Communicator& peers, const Roles& roles, const Settings& settings) {
  const Tasks tasks(settings);
  DistributedArray array(world, roles, settings);
  const auto elements = static_cast<std::size_t>(settings.block * settings.block);
  std::vector<double> block(elements), sum(elements);
  Seen seen{.computing_seconds = 0};
  const double alone_seconds = seconds_alone(settings);
  peers.barrier();
  const std::array<std::int64_t, 1> nothing{};
  world.send(nothing, roles.serving_rank(peers.rank()), begin_tag);
  peers.barrier();
  const double begin_seconds = MPI_Wtime();
  const auto next_task = [&](std::int64_t in_turn) {
    return settings.balance == Balance::counter ? array.next_task() : in_turn;
  };
  std::int64_t done = 0;
  for (auto task = next_task(peers.rank()); task < tasks.count(); task = next_task(task + peers.size())) {
    std::ranges::fill(sum, 0.0);
    for (std::int64_t which = 0; which < settings.gets; ++which) {
      array.get(tasks.patch(task, which), block);
      std::ranges::transform(sum, block, sum.begin(), std::plus<>());
    }
    const double computing_begin_seconds = MPI_Wtime();
    program::compute(sum, settings.rounds());
    seen.computing_seconds += MPI_Wtime() - computing_begin_seconds;
    array.add(tasks.patch(task, settings.gets), sum);
    ++done;
  }
  array.fence();
  peers.barrier();
  seen.seconds = MPI_Wtime() - begin_seconds;
  array.finish();
  seen.waits = array.waits();
  seen.computing_alone_seconds = static_cast<double>(done) * alone_seconds;
  for (std::int64_t task = peers.rank(); task < tasks.count(); task += peers.size())
    seen.expected_checksum += tasks.contribution(task);
  return seen;
}

Seen serve(Communicator& world, const Roles& roles, const Settings& settings) {
  Server server(world, roles, settings);
  world.barrier();
  server.await_beginning();
  server.serve();
  Seen seen;
  seen.server_share = server.processor_share();
  seen.elements_sent = server.elements_sent();
  seen.checksum = server.checksum();
  return seen;
}

// Returns the mean of the values that are not NaN.
double mean(std::span<const double> values) {
  double sum = 0, count = 0;
  for (const double value : values)
    if (!std::isnan(value)) sum += value, ++count;
  return count > 0 ? sum / count : none;
}

std::vector<Figure> figures(Communicator& world, const Settings& settings, int pairs, const Seen& seen) {
  const double seconds = world.most(seen.seconds);
  const double gets = world.sum(static_cast<double>(seen.waits.gets.count));
  const double get_seconds = world.sum(seen.waits.gets.seconds);
  const double add_seconds = world.sum(seen.waits.additions.seconds);
  const double other_seconds = world.sum(seen.waits.others.seconds);
  const double block_bytes = static_cast<double>(settings.block * settings.block) * sizeof(double);
  const double all_seconds = seconds * pairs;
  const double efficiency = mean(world.gather(seen.computing_alone_seconds / seen.computing_seconds));
  const double server_share = mean(world.gather(seen.server_share));
  return {{"gets", gets / seconds, "1/s"},
          {"fetched", gets * block_bytes / seconds, "B/s"},
          {"a get", get_seconds / gets, "s"},
          {"the slowest get", world.most(seen.waits.gets.slowest_seconds), "s"},
          {"time in gets", get_seconds / all_seconds, "share"},
          {"time in additions", add_seconds / all_seconds, "share"},
          {"time for tasks and fences", other_seconds / all_seconds, "share"},
          {"efficiency of computing", efficiency, "share"},
          {"processor time of a server", server_share, "share"}};
}

std::vector<npb::Check> checks(Communicator& world, const Settings& settings, const Seen& seen) {
  const double sent = world.sum(static_cast<double>(seen.elements_sent));
  const auto wanted = static_cast<double>(settings.tasks * settings.gets * settings.block * settings.block);
  const std::uint64_t checksum = world.sum(seen.checksum);
  const std::uint64_t expected = world.sum(seen.expected_checksum);
  return {{"checksum of the array", as_double(checksum), as_double(expected), 0, "expected"},
          {"elements that servers sent", sent, wanted, 0, "expected"}};
}

class DataServer final : public program::Application {
 public:
  npb::About about() const override {
    return {.name = "data-server",
            .title = "Data server: computing with blocks of an array that other processes hold"};
  }
  void preset(npb::ProblemClass problem_class) override { set_class(settings_, problem_class); }
  void declare(program::Arguments& arguments) override { data_server::declare(settings_, arguments); }
  std::string unsuitable(int ranks) const override { return data_server::unsuitable(settings_, ranks); }

  Outcome run(Communicator& world) override {
    const Roles roles(world.size(), settings_.arrangement);
    refuse_too_large(world, roles, settings_.order);
    const std::string placed = place(world, roles, settings_.sharing);
    const bool serves = roles.serves(world.rank());
    Communicator peers = world.split(serves ? 1 : 0);
    Seen seen;
    if (serves) {
      seen = serve(world, roles, settings_);
    } else {
      world.barrier();  // until every server has filled its columns
      seen = compute(world, peers, roles, settings_);
    }
    Outcome outcome;
    outcome.seconds = seen.seconds;
    outcome.communication_seconds =
        serves ? none : seen.waits.gets.seconds + seen.waits.additions.seconds + seen.waits.others.seconds;
    outcome.iterations = static_cast<int>(settings_.tasks);
    outcome.million_operations =
        1e-6 * settings_.operations_per_task() * static_cast<double>(settings_.tasks);
    outcome.size = npb::product_text(settings_.order, settings_.order) + " doubles, blocks of " +
                   npb::product_text(settings_.block, settings_.block);
    outcome.layout = std::to_string(roles.pairs()) + " computing, " + std::to_string(roles.pairs()) +
                     " serving; " + placed;
    outcome.figures = figures(world, settings_, roles.pairs(), seen);
    outcome.checks = checks(world, settings_, seen);
    return outcome;
  }

 private:
  Settings settings_;
};

}  // namespace
}  // namespace crosscut::data_server

std::unique_ptr<crosscut::program::Application> crosscut::program::make_application() {
  return std::make_unique<data_server::DataServer>();
}
