// Simulates one phase in virtual time, event by event: messages start when their ends are ready, share
// capacities while they drain, and release the operations that wait for them. The model:
// docs/reference/simulator.md.
#pragma once

#include <functional>

#include "backends/sim/paths.hpp"
#include "backends/sim/program.hpp"
#include "networks/contention.hpp"
#include "networks/flow_set.hpp"

namespace crosscut::backends::sim {

struct SimModel {
  std::int64_t eager_bytes = 65536;  // largest message that does not wait for its receive
  networks::Knee knee;
  networks::ShareSpread spread;
};

// Times at which each operation was posted and done, in seconds from the phase's start.
struct SimTimes {
  std::vector<double> posted, done;  // [operation of the phase]
};

struct SimRoutes {
  networks::FlowTable table;    // [message]
  std::vector<double> seconds;  // [message] latency
};

class EventRun {
 public:
  // `cancelled` is called now and then, from the thread that calls run().
  EventRun(const Paths& paths, const SimModel& model, std::function<bool()> cancelled);
  // `phase` is the phase's number, which seeds the spread of shares. Throws RunError if an operation never
  // ends, or if cancelled.
  void run(const PhaseProgram& program, const SimRoutes& routes, std::int64_t phase, SimTimes& times);

 private:
  // Events at the same time are taken in this order.
  enum class Kind : std::uint8_t { crowd_drained, drained, arrived, injected, received };
  struct Event {
    double time = 0;
    Kind kind = Kind::drained;
    MessageIndex message = 0;   // crowd_drained: the crowd
    std::uint32_t version = 0;  // drained: of the message; crowd_drained: of the crowd
    // Orders a heap with the earliest event on top.
    bool operator<(const Event& other) const {
      if (time != other.time) return time > other.time;
      if (kind != other.kind) return kind > other.kind;
      return message > other.message;
    }
  };
  struct Progress {
    double bytes_left = 0, bytes_per_second = 0, since = 0;
    std::uint32_t version = 0;
    std::int32_t crowd = -1;  // -1: drains alone
    double due = 0;           // in a crowd: its `served` when this message has drained
    bool injected = false, awaited = false, started = false, left = false, arrived = false;
  };

  // A message of a crowd and the value of the crowd's `served` at which it has drained.
  struct Due {
    double served = 0;
    MessageIndex message = 0;
    std::uint32_t version = 0;  // of the message, when it joined
    bool operator<(const Due& other) const {
      return served != other.served ? served > other.served : message > other.message;
    }
  };
  // Messages that share a bottleneck and hence a rate, so that a new rate changes the crowd and not each
  // message. `served` counts the bytes drained from each of them: virtual time as in fair queueing (Parekh
  // and Gallager 1993).
  struct Crowd {
    double served = 0, bytes_per_second = 0, since = 0;
    std::uint32_t version = 0;
    bool touched = false;
    std::vector<Due> due;  // heap; some of its messages may have left
  };

  void start(const PhaseProgram& program, const SimRoutes& routes, SimTimes& times);
  void draw_weights(std::int64_t phase);
  void at(double time, Kind kind, MessageIndex message, std::uint32_t version = 0);
  void take_events();
  void take(const Event& event);
  void begin_ready();
  void begin(SimOpIndex op);
  void begin_send(const SimOp& op, SimOpIndex index);
  void inject(MessageIndex message);
  void start_when_possible(MessageIndex message);
  void drained(MessageIndex message);
  void leave(MessageIndex message);
  void arrived(MessageIndex message);
  void receive(MessageIndex message);
  void complete(SimOpIndex op);
  void renew_rates();
  void renew_alone(MessageIndex message);
  void renew_in_crowd(MessageIndex message, std::int32_t crowd);
  double bytes_left_now(const Progress& progress) const;  // for a message that drains alone
  void leave_crowd(MessageIndex message);
  void serve(Crowd& crowd);
  void touch(std::int32_t crowd);
  void crowd_drained(std::int32_t crowd);
  void schedule_crowd_drains();
  bool has_left(const Due& due) const {
    return due.version != progress_[static_cast<std::size_t>(due.message)].version;
  }
  double drain_rate(MessageIndex message) const;
  bool is_eager(const SimOp& send) const { return send.bytes <= model_.eager_bytes; }
  const SimOp& send_of(MessageIndex message) const;
  const SimOp& receive_of(MessageIndex message) const;
  [[noreturn]] void tell_who_waits() const;

  const Paths& paths_;
  SimModel model_;
  std::function<bool()> cancelled_;
  networks::FlowSet flows_;
  const PhaseProgram* program_ = nullptr;
  const SimRoutes* routes_ = nullptr;
  SimTimes* times_ = nullptr;
  double now_ = 0;
  std::vector<Event> events_;            // heap
  std::vector<double> weights_;          // [message]; empty: shares are even
  std::vector<Progress> progress_;       // [message]
  std::vector<Crowd> crowds_;            // [bottleneck]
  std::vector<std::int32_t> touched_;    // crowds whose next drain may have changed
  std::vector<MessageIndex> drained_;    // scratch space of crowd_drained()
  std::vector<double> free_at_;          // [rank] end of its overheads so far
  std::vector<std::uint8_t> waits_for_;  // [operation]
  // [operation] messages not complete, in the place of the last one; empty unless some take several rails
  std::vector<std::int32_t> unfinished_;
  std::vector<SimOpIndex> ready_;
  std::size_t completed_ = 0;
};

}  // namespace crosscut::backends::sim
