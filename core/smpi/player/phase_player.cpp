#include "smpi/player/phase_player.hpp"

#include <simgrid/actor.h>

#include <limits>

namespace crosscut::smpi::player {
namespace {

// Spends the rank's own time, which delays whatever it does next. SMPI's options for this (smpi/os, smpi/or)
// do not cover receives that are waited for together.
void work(double seconds) {
  if (seconds > 0) sg_actor_sleep_for(seconds);
}

}  // namespace

double PhasePlayer::play(const measure::Schedule& schedule, std::byte* payload,
                         std::span<double> message_seconds) {
  payload_ = payload;
  posted_.assign(schedule.ops.size(), 0);
  done_.assign(schedule.ops.size(), 0);
  const double start = MPI_Wtime();
  if (schedule.linear) {
    play_linear(schedule);
  } else {
    play_overlapping(schedule);
  }
  const double end = MPI_Wtime();
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
    const auto& op = schedule.ops[i];
    if (op.slot < 0) continue;
    const double since =
        op.since == program::phase_start ? start : posted_[static_cast<std::size_t>(op.since)];
    message_seconds[static_cast<std::size_t>(op.slot)] = (done_[i] - since) / op.divisor;
  }
  return schedule.ops.empty() ? std::numeric_limits<double>::quiet_NaN() : end - start;
}

void PhasePlayer::note_posted(const measure::Schedule& schedule, std::size_t op) {
  if (schedule.wants_posted[op] != 0) posted_[op] = MPI_Wtime();
}

void PhasePlayer::play_linear(const measure::Schedule& schedule) {
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
    const auto& op = schedule.ops[i];
    note_posted(schedule, i);
    if (op.kind == program::Op::Kind::send) work(overheads_.send);
    calls_.execute(op, payload_);
    if (op.kind == program::Op::Kind::receive) work(overheads_.receive);
    done_[i] = MPI_Wtime();
  }
}

void PhasePlayer::post(const measure::Schedule& schedule, program::OpIndex index) {
  const auto i = static_cast<std::size_t>(index);
  note_posted(schedule, i);
  in_flight_[i] = schedule.ops[i].messages;
  for (auto message = schedule.first_message[i]; message < schedule.first_message[i + 1]; ++message) {
    const auto& op = schedule.messages[static_cast<std::size_t>(message)];
    if (op.kind == program::Op::Kind::send) work(overheads_.send);
    calls_.start(op, message, payload_);
  }
}

void PhasePlayer::play_overlapping(const measure::Schedule& schedule) {
  waits_for_ = schedule.waits_for;
  in_flight_.assign(schedule.ops.size(), 0);
  // Post receives first: that takes no time, so no receive waits for the overheads of sends.
  for (const auto kind : {program::Op::Kind::receive, program::Op::Kind::send}) {
    for (const auto root : schedule.roots)
      if (schedule.ops[static_cast<std::size_t>(root)].kind == kind) post(schedule, root);
  }
  std::vector<program::OpIndex> ended;
  while (calls_.under_way()) {
    ended.clear();
    calls_.wait(ended, false);
    for (const auto index : ended) {
      const auto i = static_cast<std::size_t>(schedule.op_of[static_cast<std::size_t>(index)]);
      if (schedule.ops[i].kind == program::Op::Kind::receive) work(overheads_.receive);
      if (--in_flight_[i] > 0) continue;
      done_[i] = MPI_Wtime();
      const auto to = schedule.first_dependent[i + 1];
      for (auto k = schedule.first_dependent[i]; k < to; ++k) {
        const auto next = schedule.dependents[static_cast<std::size_t>(k)];
        if (--waits_for_[static_cast<std::size_t>(next)] == 0) post(schedule, next);
      }
    }
  }
}

}  // namespace crosscut::smpi::player
