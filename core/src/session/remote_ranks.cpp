#include "session/remote_ranks.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "measure/machine.hpp"
#include "session/messages.hpp"
#include "session/rank_group.hpp"
#include "session/starts.hpp"

namespace crosscut::session {
namespace {

using What = ControlServer::Heard::What;

// Time after the first loss to learn of further losses and of the cause, from the launcher's report.
constexpr double aftermath_seconds = 0.3;
constexpr double stall_answers_seconds = 2;
constexpr std::size_t longest_list = 600;  // characters in each list of a stall report

std::vector<Rank> ranks_of(const std::vector<LostRank>& lost) {
  std::vector<Rank> ranks;
  for (const auto& one : lost) ranks.push_back(one.rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

// The conductor of live ranks, which it reaches over control connections. It hands out blocks, gathers
// results, writes the run, agrees on epochs with the ranks, and recovers from the loss of a rank. It runs in
// rank 0's process, in a thread of its own that sleeps while a timed section runs.
class RemoteRanks final : public conduct::SessionHost, public RankGroup {
 public:
  using SessionHost::SessionHost;

  Rank ranks() const override { return server_.ranks(); }
  std::int32_t rails() const override { return rails_; }
  std::vector<std::int32_t> nodes() const override { return node_; }
  const std::vector<LostRank>& lost() const override { return lost_; }
  bool real_time() const override { return real_time_; }

  json::Object attributes() const override {
    return {
        {"nodes", json::Array(node_facts_.begin(), node_facts_.end())}, {"sync", sync_}, {"clock", clock_}};
  }

  json::Object begin(const conduct::Job& job) override {
    pattern_ = conduct::make_pattern(job);
    const auto& backend = program::find_backend(job.backend);
    tolerant_ = job.tolerate_failures && backend.tolerates_failure;
    real_time_ = backend.live;
    if (lost_.size() > lost_handled_) recover();
    server_.broadcast(FrameType::job, pack(json::write(conduct::to_json(job))));
    json::Object before;
    json::Value wait;
    try {
      for (const auto& said : collect_facts()) {
        if (const auto* counters = said.find("counters"))
          before.emplace_back(said.at("node").string(), *counters);
        if (const auto* its = said.find("wait"); its != nullptr && wait.is_null()) wait = *its;
      }
    } catch (const Failure&) {
      give_up();
    }
    json::Object attributes{{"counters_before", std::move(before)}, {"tcp", measure::tcp_settings()}};
    std::erase_if(sync_, [](const auto& fact) { return fact.first == "wait"; });  // an earlier job's
    if (!wait.is_null()) {
      sync_.emplace_back("wait", wait);
      attributes.emplace_back("wait", std::move(wait));
    }
    return attributes;
  }

  BlockOutcome run(const BlockRequest& request) override {
    while (true) {
      const RunOrder order{epoch_, request, ranks_of(lost_)};
      server_.send(0, FrameType::run, pack(order));  // which passes it on
      try {
        BlockOutcome outcome;
        auto& data = outcome.data;
        data.block = request.block;
        const auto slots = static_cast<std::size_t>(pattern_->extent(ranks(), request.bytes).slots);
        const auto cells = static_cast<std::size_t>(request.block.cells() * ranks());
        constexpr auto nothing = std::numeric_limits<double>::quiet_NaN();
        data.rank_seconds.assign(cells, nothing);
        data.status.assign(cells, store::Status::failed);
        data.message_seconds.assign(cells * slots, nothing);
        outcome.effort.resize(static_cast<std::size_t>(ranks()));
        Starts starts(static_cast<std::size_t>(request.block.cells()));
        collect_samples([&](Rank rank, const measure::RankSamples& samples) {
          if (!samples.compute_fraction.empty()) data.compute_fraction.resize(cells, nothing);
          if (!samples.message_lost_bytes.empty())
            data.message_lost_bytes.resize(data.message_seconds.size());
          merge(rank, samples, outcome);
          starts.add(samples.started);
        });
        data.skew_seconds = starts.skew_seconds();
        return outcome;
      } catch (const Failure&) {
        if (!tolerant_ || !server_.living(0)) give_up();
        recover();
      }
    }
  }

  json::Object end() override {
    server_.broadcast(FrameType::end_job, {});
    json::Object after, traffic;
    json::Array retransmissions, lanes;
    json::Value facts, lane_fields;
    try {
      for (const auto& said : collect_facts()) {
        if (const auto* counters = said.find("counters"))
          after.emplace_back(said.at("node").string(), *counters);
        if (const auto* backend = said.find("backend"); backend != nullptr && facts.is_null())
          facts = *backend;
        if (const auto* its = said.find("retransmissions")) retransmissions.push_back(*its);
        if (const auto* its = said.find("lanes")) {
          lane_fields = its->at("fields");
          for (const auto& row : its->at("rows").array()) lanes.push_back(row);
        }
        if (const auto* its = said.find("traffic")) traffic.emplace_back(said.at("node").string(), *its);
      }
    } catch (const Failure&) {
      events().warn(
          "a rank was lost after the last block: no sample is lost, but the node counters at the end of the "
          "run are incomplete");
    }
    json::Object attributes{{"counters_after", std::move(after)}, {"backend_facts", std::move(facts)}};
    if (!retransmissions.empty()) attributes.emplace_back("retransmissions", std::move(retransmissions));
    if (!lanes.empty())
      attributes.emplace_back("lanes", json::Object{{"fields", lane_fields}, {"rows", std::move(lanes)}});
    if (!traffic.empty()) attributes.emplace_back("sent_by_adapters", std::move(traffic));
    return attributes;
  }

  // Prepares the ranks for the next job after a failure, if all of them are alive.
  void reset() override {
    pattern_.reset();
    if (server_.all_living().size() == static_cast<std::size_t>(ranks())) recover();
  }

 private:
  struct Failure {};  // a rank was lost while the conductor waited for frames

  void conduct() override {
    assemble();
    watch_inputs();
    while (!jobs_.over())
      if (!jobs_.do_next(*this)) hear(3600, false);  // also notices ranks lost between jobs
  }

  void assemble() {
    auto gathered = gather();
    node_facts_ = std::move(gathered.facts);
    node_ = gathered.welcome.node;
    rails_ = static_cast<std::int32_t>(gathered.welcome.listeners.size());
    gathered.welcome.epoch = epoch_;
    server_.broadcast(FrameType::welcome, pack(gathered.welcome));
    try {
      note_clocks(collect(FrameType::ready));
    } catch (const Failure&) {
      give_up();
    }
    json::Array nodes;
    for (std::size_t i = 0; i < node_facts_.size(); ++i) {
      json::Array on_it;
      for (std::size_t rank = 0; rank < node_.size(); ++rank) {
        if (node_[rank] == static_cast<std::int32_t>(i)) on_it.emplace_back(static_cast<std::int64_t>(rank));
      }
      nodes.emplace_back(json::Object{{"name", node_facts_[i].at("name")}, {"ranks", std::move(on_it)}});
    }
    events().say(json::Object{{"event", "ready"}, {"ranks", ranks()}, {"nodes", std::move(nodes)}});
  }

  // Notes what the ranks found on comparing their clocks with the root's.
  void note_clocks(const std::vector<Frame>& ready) {
    double uncertainty = 0;
    for (const auto& frame : ready) {
      if (frame.payload.empty()) continue;
      const auto said = unpack<Ready>(frame.payload);
      uncertainty = std::max(uncertainty, said.clock_uncertainty_seconds);
      if (clock_.empty() && !said.facts.empty()) clock_ = json::parse(said.facts).object();
    }
    sync_ = {{"skew_uncertainty_seconds", uncertainty}};
  }

  bool loss_is_noted(Rank rank) const {
    return std::any_of(lost_.begin(), lost_.end(), [&](const auto& one) { return one.rank == rank; });
  }

  void note_loss(Rank rank, const std::string& reason) {
    if (loss_is_noted(rank)) return;
    // Without the launcher's reports, do not wait: an MPI launcher soon kills this rank too.
    const std::string known_cause = cause(rank, has_reports());
    lost_.push_back({rank, node_name(rank), known_cause.empty() ? reason : known_cause});
    server_.drop(rank);
    events().say(json::Object{{"event", "failed-rank"},
                              {"rank", rank},
                              {"node", lost_.back().node},
                              {"reason", lost_.back().reason}});
  }

  [[noreturn]] void give_up() {
    // The first that no earlier job has gone on without.
    const auto& first = lost_[std::min(lost_handled_, lost_.size() - 1)];
    throw RunError("rank " + std::to_string(first.rank) + " on node " + first.node +
                   " was lost: " + first.reason);
  }

  // Handles a rank's report that it lost its connection to a peer. Usually the peer is dead and its control
  // connection fails soon: waits up to 2 s for that before acting on the report alone.
  void handle_complaint(Rank from, const Complaint& complaint) {
    // Do not ask server_.living(): the server drops a dead rank before it delivers the event, but callers of
    // this function need the loss in lost_.
    if (loss_is_noted(complaint.peer)) return;
    const auto deadline = after_seconds(2);
    while (milliseconds_left(deadline) > 0) {
      if (hear(0.1, false).what == What::lost) return;
      if (!lost_.empty() && lost_.size() > lost_handled_) return;
    }
    const bool names_peer = complaint.peer >= 0 && complaint.peer < ranks();
    std::string reason = "rank " + std::to_string(from) + " on node " + node_name(from);
    if (names_peer)
      reason += " lost rank " + std::to_string(complaint.peer) + " on node " + node_name(complaint.peer);
    reason += ": " + complaint.reason;
    if (tolerant_ && names_peer && complaint.peer > 0) {
      note_loss(complaint.peer, reason);
      return;
    }
    throw RunError(reason);
  }

  // Aborts the block and describes what the ranks were waiting for or, if none reports that, which ranks do
  // not answer: those inside a library call that cannot be interrupted.
  std::string describe_stall() {
    server_.broadcast(FrameType::abort_block, {});
    std::string waits, names;
    const auto deadline = after_seconds(stall_answers_seconds);
    std::vector<bool> answered(static_cast<std::size_t>(ranks()));
    auto missing = server_.all_living().size();
    while (missing > 0 && milliseconds_left(deadline) > 0) {
      const auto heard = hear(stall_answers_seconds / 4, false);
      if (heard.what != What::frame || heard.frame.type != FrameType::aborted) continue;
      --missing;
      answered[static_cast<std::size_t>(heard.rank)] = true;
      const auto waited_for = unpack<Complaint>(heard.frame.payload);
      if (waited_for.peer < 0 || waited_for.peer >= ranks() || waits.size() > longest_list) continue;
      waits += "\n  rank " + std::to_string(heard.rank) + " on " + node_name(heard.rank) + " was " +
               waited_for.reason + " on " + node_name(waited_for.peer);
    }
    for (const auto rank : server_.all_living()) {
      if (!answered[static_cast<std::size_t>(rank)] && names.size() < longest_list)
        names += " " + std::to_string(rank);
    }
    const std::string what = "all ranks are alive, but none is making progress; ";
    return waits.empty() ? what + "ranks that do not answer:" + names : what + "waiting ranks:" + waits;
  }

  // Waits for the server's next event; serves inputs and records losses.
  ControlServer::Heard hear(double seconds, bool expecting) {
    auto heard = server_.hear(seconds, expecting);
    if (heard.what == What::input) receive_input(heard.fd);
    if (heard.what == What::lost) note_loss(heard.rank, heard.reason);
    return heard;
  }

  // Waits for the next frame of a rank. Throws Failure if a rank is lost meanwhile, UsageError or RunError if
  // one refuses or all stall. `after_abort`: what ranks say of the block before is passed over.
  ControlServer::Heard await_frame(bool after_abort) {
    while (true) {
      auto heard = hear(1, true);
      if (heard.what == What::lost) throw Failure{};
      if (heard.what == What::stalled) throw RunError(describe_stall());
      if (heard.what != What::frame) continue;
      const bool complains = heard.frame.type == FrameType::complaint;
      if (!complains && heard.frame.type != FrameType::refused) return heard;
      if (after_abort) continue;
      if (complains) {
        handle_complaint(heard.rank, unpack<Complaint>(heard.frame.payload));
        throw Failure{};
      }
      const auto refusal = unpack<Refusal>(heard.frame.payload);
      if (refusal.usage) throw UsageError(refusal.message);
      throw RunError("rank " + std::to_string(heard.rank) + " on node " + node_name(heard.rank) + ": " +
                     refusal.message);
    }
  }

  // Collects one frame of the wanted type from every living rank, [rank]; the frame of a lost rank is empty.
  // Each rank answers in order, so frames of other types are left over from an aborted block and are skipped.
  std::vector<Frame> collect(FrameType wanted) {
    std::vector<Frame> frames(static_cast<std::size_t>(ranks()));
    std::vector<bool> got(frames.size());
    auto missing = server_.all_living().size();
    while (missing > 0) {
      auto heard = await_frame(wanted == FrameType::aborted);
      const auto at = static_cast<std::size_t>(heard.rank);
      if (heard.frame.type != wanted || got[at]) continue;
      got[at] = true;
      frames[at] = std::move(heard.frame);
      --missing;
    }
    return frames;
  }

  // Collects the samples of every living rank, which rank 0 passes on.
  void collect_samples(const std::function<void(Rank, const measure::RankSamples&)>& take) {
    std::vector<bool> got(static_cast<std::size_t>(ranks()));
    auto type = FrameType::part;
    while (type != FrameType::result) {
      const auto heard = await_frame(false);
      if (heard.frame.type != FrameType::part && heard.frame.type != FrameType::result) continue;
      type = heard.frame.type;
      for (Reader reader(heard.frame.payload); !reader.at_end();) {
        RankEntry entry;
        read(reader, entry);
        const auto at = static_cast<std::size_t>(entry.rank);
        if (at >= got.size() || got[at])
          throw RunError("internal error: samples of rank " + std::to_string(entry.rank) +
                         " came twice, or are of no rank; please report it");
        got[at] = true;
        take(entry.rank, entry.samples);
      }
    }
    for (const Rank rank : server_.all_living()) {
      if (!got[static_cast<std::size_t>(rank)])
        throw RunError("internal error: no samples of rank " + std::to_string(rank) +
                       " came; please report it");
    }
  }

  // Collects the facts that ranks report when they are ready: node counters, wait mode, the backend's facts,
  // retransmissions.
  std::vector<json::Value> collect_facts() {
    std::vector<json::Value> all;
    std::vector<std::int32_t> node;           // of each
    std::map<std::int32_t, Carried> control;  // by node
    const auto frames = collect(FrameType::ready);
    for (std::size_t rank = 0; rank < frames.size(); ++rank) {
      if (frames[rank].payload.empty()) continue;
      const auto facts = unpack<Ready>(frames[rank].payload).facts;
      if (facts.empty()) continue;
      all.push_back(json::parse(facts));
      node.push_back(node_.at(rank));
      if (const auto* its = all.back().find("control")) control[node.back()] += carried_in(*its);
    }
    for (std::size_t i = 0; i < all.size(); ++i)
      for (auto& [name, counters] : all[i].object())
        if (name == "counters" && control.contains(node[i])) {
          counters.object().emplace_back("control", to_json(control[node[i]]));
          if (node[i] == node_.at(0)) counters.object().emplace_back("conductor", to_json(server_.carried()));
        }
    return all;
  }

  void merge(Rank rank, const measure::RankSamples& samples, BlockOutcome& outcome) const {
    auto& data = outcome.data;
    const auto cells = data.status.size() / static_cast<std::size_t>(ranks());
    const auto slots = data.message_seconds.size() / data.status.size();
    if (samples.rank_seconds.size() != cells || samples.status.size() != cells ||
        samples.message_seconds.size() % cells != 0 || samples.message_seconds.size() / cells > slots) {
      throw RunError("internal error: rank " + std::to_string(rank) +
                     " sent samples that do not fit the requested block; please report it");
    }
    const auto its_slots = samples.message_seconds.size() / cells;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const auto at = cell * static_cast<std::size_t>(ranks()) + static_cast<std::size_t>(rank);
      data.rank_seconds[at] = samples.rank_seconds[cell];
      data.status[at] = samples.status[cell];
      if (!samples.compute_fraction.empty()) data.compute_fraction[at] = samples.compute_fraction.at(cell);
      for (std::size_t slot = 0; slot < its_slots; ++slot) {
        data.message_seconds[at * slots + slot] = samples.message_seconds[cell * its_slots + slot];
        if (!samples.message_lost_bytes.empty()) {
          data.message_lost_bytes[at * slots + slot] = samples.message_lost_bytes.at(cell * its_slots + slot);
        }
      }
    }
    outcome.wrong.insert(outcome.wrong.end(), samples.wrong.begin(), samples.wrong.end());
    outcome.wrong_count += samples.wrong_count;
    outcome.effort[static_cast<std::size_t>(rank)] = samples.effort;
    outcome.connections.insert(outcome.connections.end(), samples.connections.begin(),
                               samples.connections.end());
  }

  // Makes all ranks abort the block, then rebuilds the barrier without the lost ranks; starts over if more
  // are lost meanwhile. Throws RunError if fewer than two ranks are left.
  void recover() {
    while (true) {
      const auto aftermath = after_seconds(aftermath_seconds);
      while (milliseconds_left(aftermath) > 0) hear(aftermath_seconds / 4, false);
      lost_handled_ = lost_.size();
      ++epoch_;
      if (server_.all_living().size() < 2)
        throw RunError("fewer than two ranks are left, so the session ends; continue the run with --resume");
      server_.broadcast(FrameType::abort_block, {});
      try {
        collect(FrameType::aborted);
        Welcome rebuild;
        rebuild.epoch = epoch_;
        rebuild.lost = not_living();
        server_.broadcast(FrameType::rebuild, pack(rebuild));
        note_clocks(collect(FrameType::ready));
        return;
      } catch (const Failure&) {
        continue;
      }
    }
  }

  std::vector<Rank> not_living() const {
    std::vector<Rank> gone;
    for (Rank rank = 0; rank < ranks(); ++rank)
      if (!server_.living(rank)) gone.push_back(rank);
    return gone;
  }

  std::string node_name(Rank rank) const {
    if (node_.empty()) return "?";
    const auto& facts = node_facts_[static_cast<std::size_t>(node_[static_cast<std::size_t>(rank)])];
    const auto* name = facts.find("name");
    return name != nullptr && name->is_string() ? name->string() : "?";
  }

  std::uint32_t epoch_ = 1;
  std::vector<std::int32_t> node_;
  std::int32_t rails_ = 1;
  std::vector<json::Value> node_facts_;
  json::Object sync_, clock_;
  std::vector<LostRank> lost_;
  std::size_t lost_handled_ = 0;  // entries of lost_ that the barrier already leaves out
  bool tolerant_ = false, real_time_ = true;
  std::unique_ptr<program::Pattern> pattern_;
};

}  // namespace

std::unique_ptr<conduct::SessionHost> make_conductor(const RankSetup& setup, const Address& interface) {
  return std::make_unique<RemoteRanks>(setup, interface);
}

}  // namespace crosscut::session
