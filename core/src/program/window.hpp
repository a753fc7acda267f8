// The layer between patterns and backends that puts several messages in flight on every route.
#pragma once

#include <cstdint>
#include <memory>

#include "program/program.hpp"

namespace crosscut::program {

// Bounds the operations of a phase, whose number a job from a stranger could choose.
inline constexpr std::int32_t widest_window = 10'000;

// Returns the pattern with each message, but no signal, sent `window` times at once: the same operations in
// the same order, each of as many messages, every one with memory of its own. Samples are divided by the
// window, so that times and rates are those of one message among them.
std::unique_ptr<Pattern> windowed(std::unique_ptr<Pattern> pattern, std::int32_t window);

}  // namespace crosscut::program
