// The layer between patterns and backends that puts several messages in flight on every route, and cuts
// messages into parts that take several rails.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/parts.hpp"
#include "program/program.hpp"

namespace crosscut::program {

// Bounds the operations of a phase, whose number a job from a stranger could choose.
inline constexpr std::int32_t widest_window = 10'000;
inline constexpr std::int32_t most_rails = 64;

// Returns the pattern with each message, but no signal, sent `window` times at once: the same operations in
// the same order, each of as many messages, every one with memory of its own, cut into parts over `rails`.
// Samples are divided by the window, so that times and rates are those of one message among them.
std::unique_ptr<Pattern> in_flight(std::unique_ptr<Pattern> pattern, std::int32_t window,
                                   std::int32_t rails = 1);

// Parts begin on cache lines, so a message of at most one line takes one rail.
inline constexpr std::int64_t line_bytes = 64;

// Calls `take` with each message of an operation, in order, as an operation of its own: what a transport
// moves. A part without bytes is left out, unless the whole message has none.
template <class Take>
void for_each_message(const Op& op, Take take) {
  const auto lines = (op.bytes + line_bytes - 1) / line_bytes;
  const auto begin_of = [&](std::int64_t part) {
    return std::min(op.bytes, begin_of_part(lines, op.rails, part) * line_bytes);
  };
  for (std::int32_t k = 0; k < op.messages; ++k) {
    for (std::int32_t part = 0; part < op.rails; ++part) {
      const auto begin = begin_of(part), bytes = begin_of(part + 1) - begin;
      if (bytes == 0 && part > 0) break;
      auto message = op;
      message.messages = message.rails = 1;
      message.rail = static_cast<std::uint8_t>(op.rail + part);
      message.bytes = bytes;
      message.offset += k * op.bytes + begin;
      if (op.origin_offset >= 0) message.origin_offset += k * op.bytes + begin;
      take(message);
    }
  }
}

}  // namespace crosscut::program
