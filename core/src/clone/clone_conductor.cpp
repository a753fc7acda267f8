#include <signal.h>

#include <deque>
#include <map>

#include "base/error.hpp"
#include "clone/clone_rank.hpp"
#include "clone/clone_roster.hpp"
#include "conduct/session_host.hpp"
#include "session/join.hpp"
#include "session/messages.hpp"

namespace crosscut::clone {
namespace {

using What = session::ControlServer::Heard::What;

// The conductor of a session that clones; runs in rank 0's process, in a thread of its own. It has all ranks
// prepare, orders the chain, closes the gaps that lost ranks leave, and verifies every copy's SHA-256.
class CloneConductor final : public conduct::SessionHost {
 public:
  CloneConductor(const session::RankSetup& setup, const session::Address& interface)
      : SessionHost(setup, interface), roster_(static_cast<std::size_t>(setup.ranks)) {}

 private:
  void conduct() override {
    assemble();
    watch_inputs();
    while (!jobs_.over()) {
      if (const std::string request = jobs_.take_request(); !request.empty()) {
        take(request);
        if (epoch_ > 0) return;  // a session clones once: lost ranks do not return
        continue;
      }
      const auto heard = server_.hear(3600, false);
      if (heard.what == What::input) receive_input(heard.fd);
      if (heard.what == What::lost) lose(heard.rank, heard.reason);
    }
  }

  void assemble() {
    const auto [welcome, facts] = gather();
    json::Array nodes;
    for (Rank rank = 0; rank < server_.ranks(); ++rank) {
      CloneMember& member = roster_.of(rank);
      member.machine = welcome.node[static_cast<std::size_t>(rank)];
      member.node = facts[static_cast<std::size_t>(member.machine)].at("name").string();
      nodes.emplace_back(json::Object{{"name", member.node}, {"ranks", json::Array{rank}}});
    }
    server_.broadcast(session::FrameType::welcome, session::pack(welcome));
    events().say(json::Object{{"event", "ready"}, {"ranks", server_.ranks()}, {"nodes", std::move(nodes)}});
  }

  void take(const std::string& request) {
    const auto value = json::parse(request);
    // Slurm copies standard input to every node; this line is meant for the nodes without rank 0.
    if (value.find("do") == nullptr && value.find("conductor") != nullptr) return;
    const auto& word = value.at("do").string();
    if (word == "clone") return clone(parse_clone_job(value.at("job")));
    if (word == "end") throw RunError("ended before anything was copied");
    if (word != "stop")
      throw UsageError("unknown request '" + word.substr(0, 40) + "'; the requests are clone, stop and end");
  }

  void clone(CloneJob job) {
    prepare(job);
    events().say(json::Object{{"event", "cloning"},
                              {"bytes", job.bytes},
                              {"chunk_bytes", job.chunk_bytes},
                              {"copies", server_.ranks() - 1}});
    copy();
    tell_outcome();
  }

  void prepare(CloneJob& job) {
    ask_to_prepare(job, {0});
    const Prepared& source = roster_.of(0).prepared;
    job.bytes = source.bytes;
    job.permissions = source.permissions;
    if (job.chunk_bytes == 0) job.chunk_bytes = choose_chunk_bytes(job.bytes);
    if (!source.warning.empty()) events().warn(source.warning);
    std::vector<Rank> targets = server_.all_living();
    std::erase(targets, 0);
    ask_to_prepare(job, targets);
    if (const std::string collision = roster_.collision(); !collision.empty()) throw UsageError(collision);
    if (const std::string asked = roster_.unconfirmed(job.confirmed); !asked.empty()) throw UsageError(asked);
  }

  // Has ranks prepare and waits for all answers. Nothing is written yet, so all obstacles can be reported
  // together.
  void ask_to_prepare(const CloneJob& job, const std::vector<Rank>& ranks) {
    const auto payload = session::pack(json::write(to_json(job)));
    for (const Rank rank : ranks) server_.send(rank, session::FrameType::job, payload);
    std::map<Rank, std::string> refusals;
    bool is_usage = true;
    for (auto left = ranks.size(); left > 0;) {
      const auto heard = server_.hear(0.5, true);
      if (jobs_.stop_asked()) throw RunError("stopped before anything was copied");
      if (heard.what == What::input) receive_input(heard.fd);
      if (heard.what == What::lost) {
        lose(heard.rank, heard.reason);
        throw RunError(roster_.name(heard.rank) +
                       " was lost before anything was copied: " + roster_.of(heard.rank).reason);
      }
      if (heard.what != What::frame) continue;
      if (heard.frame.type == session::FrameType::ready) {
        roster_.of(heard.rank).prepared = parse_prepared(session::unpack_json(heard.frame));
        --left;
      } else if (heard.frame.type == session::FrameType::refused) {
        const auto refusal = session::unpack<session::Refusal>(heard.frame.payload);
        is_usage = is_usage && refusal.usage;
        refusals[heard.rank] = refusal.message;
        --left;
      }
    }
    if (refusals.empty()) return;
    std::string text;
    for (const auto& [rank, why] : refusals)
      text += (text.empty() ? "" : "\n  ") + roster_.name(rank) + ": " + why;
    if (is_usage) throw UsageError(text);
    throw RunError(text);
  }

  void copy() {
    start_ = told_ = std::chrono::steady_clock::now();
    send_chain();
    while (!roster_.all_settled()) {
      const auto heard = server_.hear(0.25, true);
      if (heard.what == What::input) receive_input(heard.fd);
      if (jobs_.stop_asked()) {
        stopped_ = true;
        return;
      }
      receive_from_rank(heard);
      settle_complaints();
      tell_progress();
    }
  }

  void send_chain() {
    ++epoch_;
    server_.broadcast(session::FrameType::run,
                      session::pack(json::write(to_json(Chain{epoch_, roster_.living()}))));
  }

  void receive_from_rank(const session::ControlServer::Heard& heard) {
    if (heard.what == What::stalled) return warn_of_stall();
    if (heard.what == What::lost) return lose(heard.rank, heard.reason);
    if (heard.what != What::frame || !server_.living(heard.rank)) return;
    CloneMember& member = roster_.of(heard.rank);
    switch (heard.frame.type) {
      case session::FrameType::standing:
        // A progress report from another thread of the rank may arrive after the result.
        if (member.state == CloneMember::State::unfinished)
          member.standing = parse_standing(session::unpack_json(heard.frame));
        return;
      case session::FrameType::result:
        member.standing = parse_standing(session::unpack_json(heard.frame));
        member.state = CloneMember::State::complete;
        member.seconds = seconds_since(start_);
        for (const Rank rank : roster_.living()) judge(rank);
        return;
      case session::FrameType::committed:
        member.state = CloneMember::State::verified;
        events().say(json::Object{{"event", "verified"}, {"rank", heard.rank}, {"node", member.node}});
        return;
      case session::FrameType::refused:
        return lose(heard.rank, session::unpack<session::Refusal>(heard.frame.payload).message);
      case session::FrameType::complaint:
        return take_complaint(heard.rank, session::unpack<session::Complaint>(heard.frame.payload));
      default:
        return;
    }
  }

  void judge(Rank rank) {
    CloneMember& member = roster_.of(rank);
    const CloneMember& source = roster_.of(0);
    if (rank == 0 || member.state != CloneMember::State::complete || source.standing.sha256.empty()) return;
    if (member.standing.sha256 == source.standing.sha256) {
      if (!std::exchange(member.is_committing, true)) server_.send(rank, session::FrameType::end_job, {});
      return;
    }
    member.state = CloneMember::State::differs;
    member.reason = source.standing.has_changed
                        ? "the source changed while it was copied"
                        : "the SHA-256 differs from the source's; check this node's disk and memory";
  }

  // Handles a complaint about a neighbour. Usually the neighbour is dead, and its control connection fails
  // soon. If both ranks live, their connection broke; then the later one in the chain is given up, because
  // the earlier one has the bytes.
  void take_complaint(Rank from, const session::Complaint& complaint) {
    if (complaint.peer < 0 || complaint.peer >= server_.ranks()) return;
    suspicions_.push_back({from, complaint.peer, complaint.reason, after_seconds(1)});
  }

  void settle_complaints() {
    while (!suspicions_.empty() && milliseconds_left(suspicions_.front().due) == 0) {
      const Suspicion one = suspicions_.front();
      suspicions_.pop_front();
      const Rank before = std::min(one.from, one.peer), behind = std::max(one.from, one.peer);
      if (!server_.living(one.from) || !server_.living(one.peer)) continue;
      lose(behind, "its connection with " + roster_.name(before) + " broke: " + one.why);
    }
  }

  void lose(Rank rank, const std::string& reason) {
    CloneMember& member = roster_.of(rank);
    if (std::exchange(member.is_gone, true)) return;
    const bool was_alive = server_.living(rank);
    std::string why = was_alive ? "" : cause(rank, rank != 0);  // rank 0 would have reported the cause itself
    if (why.empty()) why = reason;
    if (member.state != CloneMember::State::verified) {
      member.state = CloneMember::State::lost;
      member.reason = why;
    }
    if (was_alive) server_.send(rank, session::FrameType::end, {});
    server_.drop(rank);
    events().say(
        json::Object{{"event", "failed-rank"}, {"rank", rank}, {"node", member.node}, {"reason", why}});
    if (rank == 0 && epoch_ > 0) {
      tell_outcome();
      throw RunError(roster_.name(0) + ", which has the source, cannot continue: " + why);
    }
    if (epoch_ > 0) send_chain();
  }

  void warn_of_stall() {
    if (std::exchange(has_warned_, true)) return;
    const Rank slowest = roster_.slowest();
    if (slowest < 0) return;
    events().warn("no data has moved for a while, although all ranks answer; " + roster_.name(slowest) +
                  " has the fewest bytes (" + std::to_string(roster_.of(slowest).held_bytes()) +
                  "): check its disk");
  }

  void tell_progress() {
    const double since = seconds_since(told_);
    const Rank slowest = roster_.slowest();
    if (since < 0.5 || slowest < 0) return;
    const CloneMember& member = roster_.of(slowest);
    const double rate = static_cast<double>(member.held_bytes() - told_bytes_) / since;
    told_ = std::chrono::steady_clock::now();
    told_bytes_ = member.held_bytes();
    events().progress(json::Object{{"event", "progress"},
                                   {"bytes", roster_.of(0).prepared.bytes},
                                   {"held_bytes", member.held_bytes()},
                                   {"checked_bytes", member.standing.checked_bytes},
                                   {"rank", slowest},
                                   {"node", member.node},
                                   {"rate", std::max(rate, 0.0)},
                                   {"elapsed", seconds_since(start_)}});
  }

  void tell_outcome() {
    const bool is_fine = roster_.all_verified();
    if (stopped_) jobs_.note_status(130);
    if (!is_fine) jobs_.note_status(1);
    events().say(json::Object{{"event", "cloned"},
                              {"state", stopped_  ? "stopped"
                                        : is_fine ? "complete"
                                                  : "failed"},
                              {"bytes", roster_.of(0).prepared.bytes},
                              {"seconds", seconds_since(start_)},
                              {"sha256", roster_.of(0).standing.sha256},
                              {"nodes", roster_.outcome()}});
  }

  struct Suspicion {
    Rank from, peer;
    std::string why;
    Deadline due;
  };

  CloneRoster roster_;

  std::uint32_t epoch_ = 0;
  std::deque<Suspicion> suspicions_;
  Deadline start_{}, told_{};
  std::int64_t told_bytes_ = 0;
  bool stopped_ = false, has_warned_ = false;
};

}  // namespace

int run_clone_rank(const session::RankSetup& setup) {
  ::signal(SIGPIPE, SIG_IGN);
  if (setup.rank == 0) {
    CloneConductor conductor(setup, session::interfaces_of(setup).front());
    return conduct::conduct_beside(conductor,
                                   [&](const session::Address& address) { work_on_copy(setup, address); });
  }
  work_on_copy(setup, session::Address::parse(setup.conductor));
  return 0;
}

}  // namespace crosscut::clone
