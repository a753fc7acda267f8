// Replays a traced program in virtual time: its ranks compute for as long as the trace says, and their
// messages travel as MPI's do over TCP. The model and its sources: docs/howto-predict.md.
//
// Two ranks have one connection in each direction. A connection is a stream: its messages follow one another.
// All connections with data to send share the network by max-min fairness.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <queue>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/sim/paths.hpp"
#include "base/random.hpp"
#include "networks/flow_set.hpp"
#include "replay/replay_trace.hpp"

namespace crosscut::replay {

struct ReplayModel {
  double seconds_per_operation = 1e-9;
  // Larger messages wait until their receive is posted.
  double eager_bytes = std::numeric_limits<double>::infinity();
  // The sender of a larger message continues when the receiver's library, which works only while the receiver
  // waits in MPI, has taken the message in and answered.
  double inject_bytes = std::numeric_limits<double>::infinity();
  // The sender of another continues as soon as all but this many bytes of its message have left.
  double send_buffer_bytes = std::numeric_limits<double>::infinity();
  // Bytes that the MPI library sends before each message.
  double header_bytes = 0;
  // TCP payload bytes in a frame (0: unknown), and the bytes around them on the wire.
  double segment_bytes = 0, framing_bytes = 0;
  // Factors on the network's own values. An infinite bandwidth passes any size at once.
  double latency = 1, bandwidth = 1, overhead = 1;
  // Mean of an additional, exponentially distributed delay of the receiver, drawn for each message and
  // multiplied by `overhead`. Like the noise of Hoefler, Schneider and Lumsdaine (SC 2010), but per message.
  double noise_seconds = 0;
  std::uint64_t noise_seed = 0;
  bool alone = false;  // each message has every link to itself
  // Lossless queues give faster senders the larger share; where queues overflow, TCP evens out the shares.
  bool deep_queues = false;
};

struct ReplayTimes {
  std::vector<double> ended;  // [rank] seconds
};

class Replay {
 public:
  // All arguments but `model` must outlive the replay.
  Replay(const ReplayTrace& trace, const backends::sim::Paths& paths, const ReplayModel& model);
  // Throws RunError on a deadlock, naming the ranks that wait and the trace lines they wait at.
  ReplayTimes run();

 private:
  using MessageNumber = std::int32_t;
  using ConnectionNumber = std::int32_t;
  // Events at the same time are handled in this order.
  enum class Kind : std::uint8_t { drained, sent, arrived, answered, enter, resume };
  struct Event {
    double time = 0;
    Kind kind = Kind::resume;
    std::int32_t number = 0;                    // of a connection (drained), a message, or a rank (resume)
    std::uint32_t version = 0;                  // drained: version of the connection's rate
    std::uint64_t order = 0;                    // order in which events were scheduled
    bool operator<(const Event& other) const {  // the earliest on top
      return std::tie(time, kind, order) > std::tie(other.time, other.kind, other.order);
    }
  };
  struct Message {
    ConnectionNumber connection = 0;
    double bytes = 0, end = 0;  // end: position on the connection
    double posted = 0;          // when the send was posted, seconds
    bool has_send = false, has_receive = false, sent = false, arrived = false;
    bool sender_waits = false, receiver_waits = false;
  };
  struct Answer {
    MessageNumber message = 0, behind = 0;  // to a message; on the stream it follows another
  };
  struct Connection {
    Rank source = 0, destination = 0;
    bool within_host = false;
    double latency = 0;
    double alone_rate = 0;         // rate of the narrowest capacity
    double entered = 0, left = 0;  // positions, bytes
    double rate = 0, since = 0;
    std::uint32_t version = 0;
    std::deque<MessageNumber> leaving, buffered;  // by position: not yet left; not yet in the send buffer
    std::deque<Answer> answers;                   // those behind messages that have not yet left
  };
  struct Request {
    MessageNumber message = 0;
    std::uint64_t key = 0;
    bool of_send = false;
  };
  struct RankState {
    std::size_t at = 0;          // index of the current action
    bool paid = false;           // the action's processor time has been charged
    MessageNumber message = -1;  // message that the current action waits for
    bool waits_to_send = false;
    std::vector<Request> open;
    std::vector<MessageNumber> unanswered;  // arrived, but not yet taken in by the library
    Random noise{0};
    double ended = -1;
  };

  void make_connections();
  void connect(Rank source, Rank destination);
  void weigh();
  std::uint64_t key(Rank source, Rank destination, std::int32_t tag) const;
  std::uint64_t key(Rank rank, const Action& action, bool of_send) const {
    return of_send ? key(rank, action.peer, action.tag) : key(action.peer, rank, action.tag);
  }
  void at(double time, Kind kind, std::int32_t number, std::uint32_t version = 0);
  void take_events();
  void take(const Event& event);
  void proceed(Rank rank);
  bool perform(Rank rank, RankState& state, const Action& action);
  bool blocking(Rank rank, RankState& state, const Action& action);
  bool start_message(Rank rank, RankState& state, const Action& action);
  bool wait(Rank rank, RankState& state, const Action& action);
  bool wait_all(Rank rank, RankState& state);
  bool complete(Rank rank, RankState& state);
  bool has_sent(Rank rank, RankState& state, Message& message);
  bool pay(Rank rank, RankState& state, double seconds);
  MessageNumber match(Rank rank, const Action& action, bool of_send);
  void enter(MessageNumber number);
  void travel_alone(MessageNumber number);
  void settle(Connection& connection) const;
  void schedule_drain(ConnectionNumber number);
  void drained(ConnectionNumber number);
  void sent(MessageNumber number);
  void arrived(MessageNumber number);
  void answered(MessageNumber number);
  void answer(RankState& state);
  bool needs_answer(const Message& message) const;
  void renew_rates();
  double carried_bytes(double bytes) const;
  double control_seconds(const Connection& connection) const;
  double send_overhead(Rank rank) const { return model_.overhead * paths_.send_overhead(rank); }
  double received_seconds(Rank rank, RankState& state) const;
  double receive_overhead(Rank rank) const { return model_.overhead * paths_.receive_overhead(rank); }
  [[noreturn]] void tell_who_waits() const;

  const ReplayTrace& trace_;
  const backends::sim::Paths& paths_;
  ReplayModel model_;
  std::vector<double> capacities_;
  networks::FlowTable table_;    // [connection]
  std::vector<double> weights_;  // [connection]; empty: equal shares
  networks::FlowSet flows_;
  bool flows_changed_ = false;                                         // since their rates were computed
  std::unordered_map<std::uint64_t, ConnectionNumber> connection_of_;  // by key of tag 0
  std::vector<Connection> connections_;
  std::vector<Message> messages_;
  std::unordered_map<std::uint64_t, std::deque<MessageNumber>> half_;  // messages with one end posted, by key
  std::vector<RankState> ranks_;
  std::priority_queue<Event> events_;
  std::uint64_t told_ = 0;
  double now_ = 0;
};

}  // namespace crosscut::replay
