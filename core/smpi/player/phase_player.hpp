// Plays one rank's phases as MPI calls and takes its samples, as the timing loop of live backends does
// (core/src/measure/live.hpp). The clock is MPI_Wtime, SMPI's virtual clock.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backends/mpi/two_sided.hpp"
#include "measure/schedule.hpp"
#include "smpi/smpi_options.hpp"

namespace crosscut::smpi::player {

class PhasePlayer {
 public:
  explicit PhasePlayer(const Overheads& overheads) : overheads_(overheads) {}

  // Returns the rank's seconds, NaN without operations. `message_seconds` is [slot] and is left unchanged
  // where the phase has no sample. All ranks must call this at the same virtual moment. Every message is sent
  // from and received into `payload`, whose content does not matter.
  double play(const measure::Schedule& schedule, std::byte* payload, std::span<double> message_seconds);

 private:
  void play_linear(const measure::Schedule& schedule);
  void play_overlapping(const measure::Schedule& schedule);
  void post(const measure::Schedule& schedule, program::OpIndex index);
  void note_posted(const measure::Schedule& schedule, std::size_t op);

  Overheads overheads_;
  std::byte* payload_ = nullptr;
  std::vector<double> posted_, done_;  // [operation] seconds of the virtual clock
  std::vector<std::int32_t> waits_for_;
  std::vector<std::int32_t> in_flight_;  // [operation] messages of it that are not complete
  backends::mpi::TwoSided calls_{MPI_COMM_WORLD};
};

}  // namespace crosscut::smpi::player
