// What `crosscut-core list --json` says: everything a person or the Python side may name.
#pragma once

#include "base/json.hpp"

namespace crosscut::program {

// {"version", "patterns": [...], "backends": [...], "generators": [...]}; parameters with kind, unit,
// default, help, limits.
json::Value describe();

}  // namespace crosscut::program
