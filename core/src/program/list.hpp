// Builds the output of `crosscut-core list --json`: every name that a person or the Python program may use.
#pragma once

#include "base/json.hpp"

namespace crosscut::program {

// Returns {"version", "patterns": [...], "backends": [...], "generators": [...]}. Parameters have kind, unit,
// default, help and limits.
json::Value describe();

}  // namespace crosscut::program
