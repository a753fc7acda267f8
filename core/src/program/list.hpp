// Builds the output of `crosscut-core list --json`: every name that a person or the Python program may use.
#pragma once

#include "base/json.hpp"

namespace crosscut::program {

// {"version", "patterns": [...], "backends": [...], "generators": [...]}; parameters with kind, unit,
// default, help, limits.
json::Value describe();

}  // namespace crosscut::program
