// The timing loop that all live backends share: runs a rank's schedules over a transport.
//
// Nothing is allocated, gathered, written or printed inside a phase. A sample is done(operation) -
// posted(since), divided by the operation's divisor and the number of iterations; see Op in program.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"
#include "measure/collectives.hpp"
#include "measure/compute.hpp"
#include "measure/machine.hpp"
#include "measure/phase_traffic.hpp"
#include "measure/schedule.hpp"
#include "measure/transport.hpp"
#include "measure/verification.hpp"
#include "session/barrier_tree.hpp"
#include "session/control_thread.hpp"

namespace crosscut::measure {

template <Transport T>
class LiveBackend final : public Backend {
 public:
  LiveBackend(const BackendContext& context, const program::Parameters& parameters)
      : context_(context), transport_(context_, parameters) {}

  void reserve(const program::Extent& largest, const MemoryPlan& plan) override {
    transport_.accept(largest);
    transport_.begin_job();
    traffic_ = {};
    is_expected_ = false;
    const bool rotates = plan.cache == CacheState::rotate;
    const auto one = std::max(largest.send_bytes, largest.receive_bytes);
    const auto cache_bytes = plan.cache == CacheState::warm ? 0 : 2 * last_level_cache_bytes();
    rotation_ =
        Rotation(static_cast<std::size_t>(std::max<std::int64_t>(one, 0)) + 64, rotates ? cache_bytes : 0);
    auto needed = largest.send_bytes + largest.receive_bytes;
    const bool overflows = needed < 0 || one < 0;
    if (rotates) needed = std::max(needed, 2 * static_cast<std::int64_t>(rotation_.bytes()));
    if (largest.adds) needed += largest.receive_bytes;
    if (plan.cache == CacheState::cold) needed += static_cast<std::int64_t>(cache_bytes);
    if (plan.verify && transport_.gpu() != nullptr) needed += one;
    if (needed > plan.limit_bytes || needed < 0 || overflows) {
      throw UsageError("a rank needs buffers of " + std::to_string(needed) +
                       " bytes, more than the limit of " + std::to_string(plan.limit_bytes) +
                       "; raise --memory, or lower --size");
    }
    if (!T::is_synchronised) return;  // no bytes move, so no memory is needed
    refuse_gpu(largest, plan);
    const auto room_of = [&](std::int64_t bytes) {
      return rotates ? rotation_.bytes() : static_cast<std::size_t>(bytes) + 64;
    };
    send_ = transport_.allocate(room_of(largest.send_bytes));
    receive_ = transport_.allocate(room_of(largest.receive_bytes));
    eviction_.reset();
    if (plan.cache == CacheState::cold) eviction_.emplace(cache_bytes);
    sums_.reserve(largest.adds ? largest.receive_bytes : 0);
    apart_ = Memory();
    apart_limit_ = plan.verify ? static_cast<std::size_t>(plan.limit_bytes - needed) : 0;
  }

  RankSamples run(const Task& task) override {
    if (!std::exchange(is_expected_, true)) expect_connections(task);
    RankSamples samples = blank_samples(task);
    phase_before_ = -1;
    noise_ = task.noise;
    const auto schedules = make_schedules(task);
    prepare(schedules, task, samples);
    const auto order = drawn_order(schedules.size(), task.order_seed, [&](std::size_t index) {
      return static_cast<std::uint64_t>(schedules[index].phase);
    });
    auto& progress = context_.control_thread.progress();
    std::size_t first_cell = 0;
    for (auto repetition = task.block.repetition_first; repetition < task.block.repetition_end;
         ++repetition) {
      for (const auto index : order) {
        measure(schedules[index], task, repetition, first_cell + index, samples);
        // Transports count moved bytes as progress, but a phase may move nothing.
        progress.store(progress.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      }
      first_cell += schedules.size();
    }
    transport_.drain();
    if (counts_traffic(task)) count_traffic(task);
    if (task.compute) computing().work(false);
    context_.control_thread.listen(true);
    return samples;
  }

  void interrupt() override { transport_.interrupt(); }
  json::Value facts() const override { return transport_.facts(); }
  json::Value lanes() override { return transport_.lanes(); }
  json::Value traffic() override { return traffic_.take(); }
  void disconnect() override { transport_.disconnect(); }

 private:
  // Throws UsageError if messages lie on a GPU and the job needs what only the processor does.
  void refuse_gpu(const program::Extent& largest, const MemoryPlan& plan) const {
    if (transport_.gpu() == nullptr) return;
    if (plan.cache != CacheState::warm)
      throw UsageError("--cache is about the processor's caches, but messages lie on a GPU; leave it out");
    if (largest.adds)
      throw UsageError(
          "the algorithms of this pattern add what they receive on the processor, but messages lie on a GPU; "
          "give --library only, --library no or --memory-kind host");
  }

  struct PhaseTimes {
    std::int64_t start = 0, end = 0;
    std::vector<std::int64_t> posted, done;  // [operation]
  };

  static RankSamples blank_samples(const Task& task) {
    const auto& block = task.block;
    const auto cells = static_cast<std::size_t>(block.phase_end - block.phase_first) *
                       static_cast<std::size_t>(block.repetition_end - block.repetition_first);
    const auto messages = cells * static_cast<std::size_t>(task.extent.slots);
    constexpr auto nothing = std::numeric_limits<double>::quiet_NaN();
    RankSamples samples;
    samples.message_seconds.assign(messages, nothing);
    samples.rank_seconds.assign(cells, nothing);
    samples.status.assign(cells, store::Status::measured);
    if (task.compute) samples.compute_fraction.assign(cells, nothing);
    if (T::is_lossy) samples.message_lost_bytes.assign(messages, 0);
    if (T::is_synchronised && task.barrier) samples.started.assign(cells, not_started);
    return samples;
  }

  // Connections stay open from block to block. A job that needs too many fails before any block runs.
  void expect_connections(const Task& task) {
    const auto most = static_cast<std::size_t>(context_.ranks - 1) *
                      static_cast<std::size_t>(task.extent.channels) *
                      static_cast<std::size_t>(task.extent.rails);
    if (transport_.has_room_for(most)) return;  // no need to visit every phase
    transport_.expect(connections_of(*task.pattern, context_.rank, context_.ranks, task.bytes));
  }

  bool counts_traffic(const Task& task) const {
    return RunsCollectives<T> && task.extent.collectives && task.barrier;
  }

  // Calls read() on the first rank of each node, between barriers: all ranks have completed the phase before,
  // and none begins the next one.
  void between_barriers(const auto& read) {
    context_.barrier.wait();
    if (context_.place == 0) read();
    context_.barrier.wait();
  }

  // Counts what the node has sent since the last call for the phase before.
  void count_traffic(const Task& task) {
    if (phase_before_ < 0) {
      between_barriers([&] { traffic_.begin(); });
      between_barriers([&] { traffic_.idle(); });
    } else {
      between_barriers([&] { traffic_.add(task.bytes, phase_before_, task.iterations); });
    }
  }

  // Allocates room for times, opens connections and starts the thread that computes beside the pattern. No
  // sample includes any of this.
  void prepare(const std::vector<Schedule>& schedules, const Task& task, RankSamples& samples) {
    std::size_t most_operations = 0, most_messages = 0;
    for (const auto& schedule : schedules) {
      most_operations = std::max(most_operations, schedule.ops.size());
      most_messages = std::max(most_messages, schedule.messages.size());
    }
    times_.posted.resize(most_operations);
    times_.done.resize(most_operations);
    waiting_.reserve(most_operations);
    in_flight_.resize(most_operations);
    completed_.reserve(most_messages);
    transport_.connect(connections_of(schedules), task.epoch);
    samples.connections = transport_.take_new_connections();
    if (task.compute && !compute_) {
      // Calibrate on all ranks at once, as they will later compute at once: ranks may share cores.
      if (T::is_synchronised) context_.barrier.wait();
      compute_.emplace();
    }
    // All ranks are connected before any stops listening.
    if (T::is_synchronised) context_.barrier.wait();
    context_.control_thread.listen(false);
    if (task.compute) computing().work(true);
  }

  Compute& computing() {
    if (!compute_) throw std::logic_error("nothing computes beside the pattern");
    return *compute_;
  }

  // Measures one phase of one repetition.
  void measure(const Schedule& schedule, const Task& task, std::int64_t repetition, std::size_t cell,
               RankSamples& samples) {
    // Exclude the time of the thread that computes beside the pattern, since it moves no bytes.
    const auto whose = task.compute ? Processor::thread : Processor::process;
    if (task.verify) verification_.fill(schedule, task, repetition, send_.span(), transport_.gpu());
    if (eviction_) eviction_->run();
    if (task.barrier && T::is_synchronised) {
      transport_.drain();
      if (counts_traffic(task)) {
        count_traffic(task);
      } else {
        context_.barrier.wait();
      }
      phase_before_ = schedule.phase;
    }
    const auto units = task.compute ? computing().units() : 0;
    // Read before the phase starts, so that no sample includes the reading.
    const auto processor = T::is_synchronised ? processor_nanoseconds(whose) : 0;
    run_phase(schedule, task.iterations);
    if (T::is_synchronised) account(schedule, task, processor_nanoseconds(whose) - processor, samples);
    record(schedule, task, cell, samples);
    if (task.compute) {
      const auto seconds = static_cast<double>(times_.end - times_.start) * 1e-9;
      // A rank without messages may take no time at all under a virtual clock; its share stays unknown.
      if (seconds > 0)
        samples.compute_fraction[cell] = static_cast<double>(computing().units() - units) /
                                         (seconds * computing().units_per_second_alone());
    }
    if (!task.verify) return;
    const auto left_out = [&](std::size_t message) {
      return T::is_lossy && may_be_incomplete(schedule, message);
    };
    verification_.check(schedule, task, repetition, transport_.gpu(), left_out, samples);
  }

  std::vector<Schedule> make_schedules(const Task& task) {
    std::vector<Schedule> schedules;
    std::size_t apart = 0;
    for (auto phase = task.block.phase_first; phase < task.block.phase_end; ++phase) {
      schedules.push_back(
          make_schedule(*task.pattern, context_.rank, context_.ranks, task.bytes, phase, task.lost));
      if (task.verify) apart = std::max(apart, bytes_apart(schedules.back()));
    }
    if (!T::is_synchronised) {
      for (auto& schedule : schedules) schedule.data.resize(schedule.messages.size());
      return schedules;
    }
    if (task.verify) apart = transport_.agree_on(apart);
    if (apart > apart_limit_) {
      throw UsageError("--verify needs " + std::to_string(apart) +
                       " more bytes per rank, to keep the receives of a phase apart; raise --memory, or " +
                       "lower --size");
    }
    if (apart > apart_.span().size()) apart_ = transport_.allocate(apart);
    const Buffers buffers{send_.span(), task.extent.one_buffer ? send_.span() : receive_.span(),
                          task.verify ? apart_.span() : std::span<std::byte>{}};
    for (auto& schedule : schedules) assign_memory(schedule, buffers);
    return schedules;
  }

  void run_phase(const Schedule& schedule, std::int64_t iterations) {
    transport_.start_phase(schedule.messages);
    times_.start = transport_.now();
    pass_noise();
    for (std::int64_t i = 0; i < iterations; ++i) {
      const bool first = i == 0, last = i + 1 == iterations;
      shift_ = rotation_.shift(turn_);
      next_shift_ = rotation_.shift(++turn_);
      if (schedule.linear) {
        run_linear(schedule, first, last);
      } else {
        run_overlapping(schedule, first, last);
      }
    }
    times_.end = end_of(program::phase_start);
    if constexpr (T::is_lossy) transport_.settle();
  }

  // Returns the time at which a completed message ended; for phase_start, at which the phase ended.
  std::int64_t end_of(program::OpIndex index) const {
    if constexpr (T::is_lossy) return std::max(transport_.moved_at(index), times_.start);
    return transport_.now();
  }

  void run_linear(const Schedule& schedule, bool first, bool last) {
    const auto count = schedule.ops.size();
    for (std::size_t i = 0; i < count; ++i) {
      const auto next = i + 1 < count ? i + 1 : 0;
      if (next > 0 || !last)
        transport_.foresee(schedule.messages[next], schedule.data[next] + (next > 0 ? shift_ : next_shift_));
      if (first && schedule.wants_posted[i] != 0) times_.posted[i] = transport_.now();
      execute(schedule.messages[i], schedule.data[i] + shift_);
      pass_noise();
      if (last && schedule.ops[i].slot >= 0) times_.done[i] = end_of(static_cast<program::OpIndex>(i));
    }
  }

  // What is complete is seen, and what follows it begun, when the rank's processor is there again.
  void pass_noise() const {
    if (noise_.any()) noise_.pass(context_.polling);
  }

  void execute(const program::Op& op, std::byte* data) {
    if constexpr (RunsCollectives<T>) {
      if (op.kind == program::Op::Kind::collective)
        return transport_.collect(op, send_.span().data() + shift_ + op.offset, data);
    }
    transport_.execute(op, data);
    if (op.adds) sums_.add(op, data);
  }

  void start(const Schedule& schedule, program::OpIndex index, bool first) {
    const auto i = static_cast<std::size_t>(index);
    if (first && schedule.wants_posted[i] != 0) times_.posted[i] = transport_.now();
    const auto begin = schedule.first_message[i], end = schedule.first_message[i + 1];
    in_flight_[i] = end - begin;
    for (auto message = begin; message < end; ++message) {
      const auto k = static_cast<std::size_t>(message);
      transport_.post(schedule.messages[k], message, schedule.data[k] + shift_);
    }
  }

  void run_overlapping(const Schedule& schedule, bool first, bool last) {
    waiting_ = schedule.waits_for;
    for (const auto root : schedule.roots) start(schedule, root, first);
    for (std::size_t left = schedule.messages.size(); left > 0;) {
      completed_.clear();
      transport_.wait(completed_);
      pass_noise();
      const auto now = last ? transport_.now() : 0;
      left -= completed_.size();
      for (const auto done : completed_) {
        const auto message = static_cast<std::size_t>(done);
        const auto i = static_cast<std::size_t>(schedule.op_of[message]);
        if (schedule.ops[i].adds && T::is_synchronised)
          sums_.add(schedule.messages[message], schedule.data[message] + shift_);
        if (--in_flight_[i] > 0) continue;
        times_.done[i] = T::is_lossy && last ? end_of_all(schedule, i) : now;
        if (schedule.ops[i].adds && T::is_synchronised && last && !T::is_lossy)
          times_.done[i] = transport_.now();
        const auto from = static_cast<std::size_t>(schedule.first_dependent[i]);
        const auto to = static_cast<std::size_t>(schedule.first_dependent[i + 1]);
        for (auto k = from; k < to; ++k) {
          const auto next = schedule.dependents[k];
          if (--waiting_[static_cast<std::size_t>(next)] == 0) start(schedule, next, first);
        }
      }
    }
  }

  // Returns the time at which the last of an operation's messages ended.
  std::int64_t end_of_all(const Schedule& schedule, std::size_t op) const {
    auto end = end_of(schedule.first_message[op]);
    for (auto message = schedule.first_message[op] + 1; message < schedule.first_message[op + 1]; ++message)
      end = std::max(end, end_of(message));
    return end;
  }

  void record(const Schedule& schedule, const Task& task, std::size_t cell, RankSamples& samples) const {
    const auto iterations = static_cast<double>(task.iterations);
    if (schedule.skipped) samples.status[cell] = store::Status::skipped;
    if (schedule.ops.empty()) return;
    if (!samples.started.empty()) samples.started[cell] = times_.start;
    samples.rank_seconds[cell] =
        static_cast<double>(times_.end - times_.start) * 1e-9 / (iterations * task.extent.window);
    for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
      const auto& op = schedule.ops[i];
      if (op.slot < 0) continue;
      const auto since =
          op.since == program::phase_start ? times_.start : times_.posted[static_cast<std::size_t>(op.since)];
      const auto at = cell * static_cast<std::size_t>(task.extent.slots) + static_cast<std::size_t>(op.slot);
      samples.message_seconds[at] =
          static_cast<double>(times_.done[i] - since) * 1e-9 / (op.divisor * iterations);
      if (!T::is_lossy) continue;
      for (auto message = schedule.first_message[i]; message < schedule.first_message[i + 1]; ++message)
        samples.message_lost_bytes[at] += transport_.lost_bytes(message);
    }
  }

  void account(const Schedule& schedule, const Task& task, std::int64_t processor,
               RankSamples& samples) const {
    if (schedule.ops.empty()) return;
    Effort effort{.processor_seconds = static_cast<double>(processor) * 1e-9,
                  .elapsed_seconds = static_cast<double>(times_.end - times_.start) * 1e-9};
    // What a library's collective moves is not known.
    if (schedule.ops.front().kind == program::Op::Kind::collective) return;
    for (const auto& op : schedule.messages)
      (op.kind == program::Op::Kind::send ? effort.sent_bytes : effort.received_bytes) +=
          op.bytes * task.iterations;
    samples.effort.add(effort);
  }

  // True if bytes of a received message may be missing: lost here, or on the way to the rank that forwarded
  // them.
  bool may_be_incomplete(const Schedule& schedule, std::size_t i) const {
    const auto& op = schedule.messages[i];
    const bool passed_on = op.origin >= 0 && op.origin != op.peer;
    return passed_on || transport_.lost_bytes(static_cast<program::OpIndex>(i)) > 0;
  }

  BackendContext context_;
  T transport_;
  Memory send_, receive_, apart_;  // from the transport, so destroyed before it
  Verification verification_{context_.rank, context_.ranks};
  Sums sums_;
  Rotation rotation_;
  std::size_t turn_ = 0;                       // iterations so far
  std::ptrdiff_t shift_ = 0, next_shift_ = 0;  // of this iteration's buffers and the next one's
  std::optional<Eviction> eviction_;
  std::size_t apart_limit_ = 0;  // most bytes that verification may allocate
  bool is_expected_ = false;     // expect_connections() has run for the current job
  std::optional<Compute> compute_;
  Noise noise_;
  PhaseTraffic traffic_;
  std::int64_t phase_before_ = -1;  // measured last in this block; -1: none
  PhaseTimes times_;
  std::vector<std::int32_t> waiting_;    // [operation] operations it still waits for
  std::vector<std::int32_t> in_flight_;  // [operation] messages of it that are not complete
  std::vector<program::OpIndex> completed_;
};

// Makes a live backend; registered as BackendInfo::make.
template <Transport T>
std::unique_ptr<Backend> make_live(const BackendContext& context, const program::Parameters& parameters) {
  return std::make_unique<LiveBackend<T>>(context, parameters);
}

}  // namespace crosscut::measure
