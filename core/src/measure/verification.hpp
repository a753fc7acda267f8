// Fills the messages of a phase with verifiable payload before it, and checks them after it, untimed.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "measure/backend.hpp"
#include "measure/gpu.hpp"
#include "measure/schedule.hpp"
#include "measure/verify.hpp"

namespace crosscut::measure {

class Verification {
 public:
  Verification(Rank rank, Rank ranks) : rank_(rank), ranks_(ranks) {}

  // Fills what the phase sends of the send buffer. `gpu`: where the buffers lie; null: in host memory.
  void fill(const Schedule& schedule, const Task& task, std::int64_t repetition, std::span<std::byte> sent,
            const Gpu* gpu);
  // Notes in `samples` the first wrong byte of each message that has one. `left_out`: [message] not checked,
  // as bytes of it may have been lost.
  void check(const Schedule& schedule, const Task& task, std::int64_t repetition, const Gpu* gpu,
             const std::function<bool(std::size_t)>& left_out, RankSamples& samples);

 private:
  std::optional<WrongByte> wrong(const Schedule& schedule, std::size_t message, const Task& task,
                                 std::int64_t repetition, const Gpu* gpu);
  // Returns the bytes of a message; a copy, valid until the next call, if they lie on a GPU.
  std::span<const std::byte> readable(const std::byte* data, std::int64_t bytes, const Gpu* gpu);

  Rank rank_, ranks_;
  std::vector<std::byte> copied_;
};

}  // namespace crosscut::measure
