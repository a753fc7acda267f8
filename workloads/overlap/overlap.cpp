// Measures how much computing gets done while messages are in flight. For each size it times the messages
// alone, the work alone, and both by the post-work-wait method of COMB (Lawry, Wilson, Maccabe, Brightwell,
// Cluster 2002). COMB also defines the availability: the time of the work alone over the time of both. Then
// it times both once more, with calls to MPI between slices of work, which let a library progress messages
// that it moves only inside calls.
//
// Salmon, Stein and Sterling (SC98) built networks of nodes that pass on the messages of others. `forward`
// and `bystander` measure how much work such a node still does while ranks or the kernel pass messages on.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "overlap/settings.hpp"
#include "overlap/worker.hpp"
#include "program/application.hpp"

namespace crosscut::overlap {
namespace {

using npb::Communicator;
using npb::Figure;
using npb::Outcome;

constexpr std::int64_t warm_up_exchanges = 2;
constexpr int several = 3;
constexpr double longest_work_seconds = 10;  // per exchange

constexpr int tag = 1;
constexpr std::size_t stamped_words = 512;  // stamps one word per page: writing more would be work of its own

void write_stamp(std::span<std::uint64_t> words, std::uint64_t stamp) {
  for (std::size_t i = 0; i < words.size(); i += stamped_words) words[i] = stamp + i;
  words.back() = stamp + words.size() - 1;
}

bool has_stamp(std::span<const std::uint64_t> words, std::uint64_t stamp) {
  for (std::size_t i = 0; i < words.size(); i += stamped_words)
    if (words[i] != stamp + i) return false;
  return words.back() == stamp + words.size() - 1;
}

// One rank's messages of one size: posts, completes and checks them.
class Exchanger {
 public:
  Exchanger(Communicator& world, const Route& route, std::int64_t bytes) : world_(world), route_(route) {
    const auto words = static_cast<std::size_t>(bytes) / sizeof(std::uint64_t);
    if (route.from)
      for (auto& buffer : incoming_) buffer.assign(words, 0);
    if (route.to && !route.forwards) outgoing_.assign(words, 0);
  }

  // Begins a series of `exchanges` with stamps of its own.
  void begin(std::int64_t exchanges) {
    ++series_;
    exchanges_ = exchanges;
  }

  // A forwarding rank needs one more step than exchanges, to pass on the last message.
  std::int64_t steps() const { return exchanges_ + (route_.forwards ? 1 : 0); }
  void post(std::int64_t step) {
    step_ = step;
    requests_.clear();
    const auto parity = static_cast<std::size_t>(step % 2);
    if (route_.from && step < exchanges_)
      requests_.push_back(world_.receive_later(incoming_[parity], *route_.from, tag));
    if (!route_.to) return;
    if (route_.forwards) {
      if (step > 0) requests_.push_back(world_.send_later(incoming_[1 - parity], *route_.to, tag));
      return;
    }
    write_stamp(outgoing_, stamp(world_.rank(), step));
    requests_.push_back(world_.send_later(outgoing_, *route_.to, tag));
  }

  // Returns true if everything posted is complete; does not wait.
  bool is_complete() { return world_.test_all(std::span(requests_)); }
  // Waits, then checks what arrived.
  void complete() {
    world_.wait_all(requests_);
    if (!route_.from || step_ >= exchanges_) return;
    ++received_;
    if (!has_stamp(incoming_[static_cast<std::size_t>(step_ % 2)], stamp(route_.origin, step_))) ++wrong_;
  }

  std::int64_t received() const { return received_; }
  std::int64_t wrong() const { return wrong_; }

 private:
  std::uint64_t stamp(int origin, std::int64_t exchange) const {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15U;  // spreads small numbers over all bits
    return ((static_cast<std::uint64_t>(series_) << 48) + (static_cast<std::uint64_t>(origin) << 32) +
            static_cast<std::uint64_t>(exchange) + 1) *
           odd;
  }

  Communicator& world_;
  Route route_;
  std::array<std::vector<std::uint64_t>, 2> incoming_;  // one is filled while the other is passed on
  std::vector<std::uint64_t> outgoing_;
  std::vector<MPI_Request> requests_;
  std::int64_t series_ = 0, exchanges_ = 0, step_ = 0;
  std::int64_t received_ = 0, wrong_ = 0;
};

enum class Doing { messages, work, both, both_testing };

// Seconds of one exchange for one size, means over the ranks that compute.
struct Times {
  double messages = 0, work = 0, both = 0, both_testing = 0;
};

class Bench {
 public:
  Bench(Communicator& world, const Settings& settings)
      : world_(world), settings_(settings), route_(route_of(settings.pattern, world.rank(), world.size())) {
    workers_ = world_.sum(route_.computes ? 1.0 : 0.0);
    world_.barrier();
    round_seconds_ = over_workers(route_.computes ? worker_.try_round_seconds() : 0);
  }

  Times measure(std::int64_t bytes) {
    Exchanger exchanger(world_, route_, bytes);
    run(exchanger, warm_up_exchanges, Doing::messages, 0);
    Times times;
    const double messages = run_several(exchanger, Doing::messages, 0);
    const double slowest = world_.most(messages);
    // If computing takes no time, as in some simulations, any amount of work will do.
    const double wanted = std::min(settings_.work * slowest, longest_work_seconds);
    const std::int64_t rounds =
        round_seconds_ > 0 ? std::max<std::int64_t>(1, std::llround(wanted / round_seconds_)) : 1;
    times.messages = over_those_that_communicate(messages);
    times.work = over_workers(run_several(exchanger, Doing::work, rounds));
    times.both = over_workers(run_both(exchanger, rounds));
    times.both_testing = over_workers(run_several(exchanger, Doing::both_testing, rounds));
    received_ += exchanger.received();
    wrong_ += exchanger.wrong();
    return times;
  }

  // This rank's times and operations of the runs that did both without calls to MPI between slices.
  const Outcome& outcome() const { return outcome_; }
  std::vector<npb::Check> checks() {
    const double series = warm_up_exchanges + 3.0 * several * static_cast<double>(settings_.exchanges);
    const double expected = route_.from ? series * static_cast<double>(settings_.sizes.size()) : 0;
    return {
        {"messages", world_.sum(static_cast<double>(received_)), world_.sum(expected), 0, "expected"},
        {"messages with wrong contents", world_.sum(static_cast<double>(wrong_)), 0, 0, "expected"},
        {"wrong results of computing", world_.sum(static_cast<double>(worker_.changed())), 0, 0, "expected"}};
  }

 private:
  double over_workers(double value) { return world_.sum(route_.computes ? value : 0) / workers_; }
  double over_those_that_communicate(double value) {
    const double count = world_.sum(route_.communicates() ? 1.0 : 0.0);
    return world_.sum(route_.communicates() ? value : 0) / count;
  }

  double run_both(Exchanger& exchanger, std::int64_t rounds) {
    const double communicated_before = world_.seconds();
    const double each = run_several(exchanger, Doing::both, rounds);
    const auto steps = static_cast<double>(exchanger.steps() * several);
    outcome_.seconds += each * steps;
    outcome_.communication_seconds += std::min(world_.seconds() - communicated_before, each * steps);
    if (route_.computes) outcome_.million_operations += 1e-6 * worker_.operations(rounds) * steps;
    return each;
  }

  // Returns the median of several series, so that one disturbed series does not count.
  double run_several(Exchanger& exchanger, Doing doing, std::int64_t rounds) {
    std::array<double, several> seconds{};
    for (double& one : seconds) one = run(exchanger, settings_.exchanges, doing, rounds);
    std::ranges::nth_element(seconds, seconds.begin() + several / 2);
    return seconds[several / 2];
  }

  // Runs a series; returns the seconds per step.
  double run(Exchanger& exchanger, std::int64_t exchanges, Doing doing, std::int64_t rounds) {
    exchanger.begin(exchanges);
    world_.barrier();
    const double begin_seconds = MPI_Wtime();
    for (std::int64_t step = 0; step < exchanger.steps(); ++step) {
      if (doing != Doing::work) exchanger.post(step);
      if (doing != Doing::messages && route_.computes) work(exchanger, doing, rounds);
      if (doing != Doing::work) exchanger.complete();
    }
    return (MPI_Wtime() - begin_seconds) / static_cast<double>(exchanger.steps());
  }

  void work(Exchanger& exchanger, Doing doing, std::int64_t rounds) {
    if (doing != Doing::both_testing) return worker_.compute(rounds);
    const double slice_seconds = 1e-6 * static_cast<double>(settings_.slice_microseconds);
    const std::int64_t slice =
        round_seconds_ > 0 ? std::max<std::int64_t>(1, std::llround(slice_seconds / round_seconds_)) : rounds;
    bool complete = !route_.communicates();
    for (std::int64_t left = rounds; left > 0; left -= slice) {
      worker_.compute(std::min(slice, left));
      if (!complete) complete = exchanger.is_complete();
    }
  }

  Communicator& world_;
  Settings settings_;
  Route route_;
  Worker worker_;
  double round_seconds_ = 0, workers_ = 0;
  Outcome outcome_;
  std::int64_t received_ = 0, wrong_ = 0;
};

void add_figures(std::vector<Figure>& figures, const Times& times, std::int64_t bytes, bool can_hide) {
  const std::string at = program::size_text(bytes);
  // Share of the shorter of the two times that was hidden behind the other.
  const auto hidden = [&](double both) {
    return can_hide ? (times.messages + times.work - both) / std::min(times.messages, times.work)
                    : std::numeric_limits<double>::quiet_NaN();
  };
  const auto add = [&](const std::string& row, double both) {
    figures.insert(figures.end(), {{"messages", times.messages, "s", row},
                                   {"work", times.work, "s", row},
                                   {"both", both, "s", row},
                                   {"available", times.work / both, "share", row},
                                   {"hidden", hidden(both), "share", row}});
  };
  add(at, times.both);
  add(at + ", testing", times.both_testing);
}

class Overlap final : public program::Application {
 public:
  npb::About about() const override {
    return {.name = "overlap", .title = "Overlap: computing while messages are under way"};
  }
  void preset(npb::ProblemClass problem_class) override { set_class(settings_, problem_class); }
  void declare(program::Arguments& arguments) override { overlap::declare(settings_, arguments); }
  std::string unsuitable(int ranks) const override { return overlap::unsuitable(settings_, ranks); }
  Outcome run(Communicator& world) override {
    Bench bench(world, settings_);
    std::vector<Figure> figures;
    std::string sizes;
    for (const std::int64_t bytes : settings_.sizes) {
      add_figures(figures, bench.measure(bytes), bytes, settings_.pattern != Pattern::bystander);
      sizes += (sizes.empty() ? "" : ", ") + program::size_text(bytes);
    }
    Outcome outcome = bench.outcome();
    outcome.iterations = static_cast<int>(settings_.exchanges);
    outcome.million_operations = world.sum(outcome.million_operations);
    outcome.size = "messages of " + sizes;
    outcome.layout = std::string(pattern_words[static_cast<std::size_t>(settings_.pattern)]);
    outcome.checks = bench.checks();
    outcome.figures = std::move(figures);
    return outcome;
  }

 private:
  Settings settings_;
};

}  // namespace
}  // namespace crosscut::overlap

std::unique_ptr<crosscut::program::Application> crosscut::program::make_application() {
  return std::make_unique<overlap::Overlap>();
}
