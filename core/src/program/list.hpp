// Builds the output of `crosscut-core list --json`: every name that a user or the Python program may use.
#pragma once

#include "base/json.hpp"

namespace crosscut::program {

// Returns {"version", "patterns": [...], "backends": [...], "generators": [...]}. Each parameter has its
// kind, unit, default, help and limits.
json::Value describe();

}  // namespace crosscut::program
