#include "measure/verification.hpp"

#include <algorithm>
#include <limits>

#include "measure/collectives.hpp"

namespace crosscut::measure {
namespace {

constexpr std::size_t most_reported = 16;

}  // namespace

void Verification::fill(const Schedule& schedule, const Task& task, std::int64_t repetition,
                        std::span<std::byte> sent, const Gpu* gpu) {
  std::int64_t from = std::numeric_limits<std::int64_t>::max(), to = 0;
  for (const auto& op : schedule.messages) {
    if (op.kind == program::Op::Kind::receive || op.forwards >= 0) continue;
    from = std::min(from, op.offset);
    to = std::max(to, op.offset + op.bytes);
  }
  if (from >= to) return;
  const auto key = payload_key(task.verify_seed, rank_, schedule.phase, repetition, task.bytes);
  const auto filled = sent.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
  if (gpu == nullptr) return fill_payload(filled, key, from);
  copied_.resize(filled.size());
  fill_payload(copied_, key, from);
  gpu->write(filled.data(), copied_);
}

void Verification::check(const Schedule& schedule, const Task& task, std::int64_t repetition, const Gpu* gpu,
                         const std::function<bool(std::size_t)>& left_out, RankSamples& samples) {
  for (std::size_t i = 0; i < schedule.messages.size(); ++i) {
    if (schedule.messages[i].kind == program::Op::Kind::send || left_out(i)) continue;
    const auto found = wrong(schedule, i, task, repetition, gpu);
    if (!found) continue;
    ++samples.wrong_count;
    if (samples.wrong.size() < most_reported) samples.wrong.push_back(*found);
  }
}

std::optional<WrongByte> Verification::wrong(const Schedule& schedule, std::size_t message, const Task& task,
                                             std::int64_t repetition, const Gpu* gpu) {
  const auto& op = schedule.messages[message];
  if (op.bytes == 0) return std::nullopt;
  const auto key_of = [&](Rank source) {
    return payload_key(task.verify_seed, source, schedule.phase, repetition, task.bytes);
  };
  const auto received = readable(schedule.data[message], op.bytes, gpu);
  std::optional<WrongResult> found;
  if (op.kind == program::Op::Kind::collective) {
    const auto count = (ranks_ - 1) / op.every + 1;
    found = wrong_result(op, received.data(), rank_ / op.every, count, task.iterations,
                         [&](Rank position) { return key_of(position * op.every); });
    if (found) found->source *= op.every;
  } else {
    const auto origin = op.origin >= 0 ? op.origin : op.peer;
    const auto began = op.origin_offset >= 0 ? op.origin_offset : op.offset;
    if (const auto byte = check_payload(received, key_of(origin), began)) found = WrongResult{op.peer, *byte};
  }
  if (!found) return std::nullopt;
  const auto& byte = found->byte;
  return WrongByte{found->source, rank_, schedule.phase, task.bytes, byte.offset, byte.expected, byte.found};
}

std::span<const std::byte> Verification::readable(const std::byte* data, std::int64_t bytes, const Gpu* gpu) {
  const auto count = static_cast<std::size_t>(bytes);
  if (gpu == nullptr) return {data, count};
  copied_.resize(count);
  gpu->read(copied_, data);
  return copied_;
}

}  // namespace crosscut::measure
