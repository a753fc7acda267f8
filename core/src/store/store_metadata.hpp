// The zarr.json files of a run (Zarr core specification, version 3).
#pragma once

#include <span>

#include "base/json.hpp"
#include "store/layout.hpp"

namespace crosscut::store {

inline constexpr std::string_view schema_name = "crosscut-run";
inline constexpr std::int64_t schema_version = 2;
// Returns the oldest version whose readers know all arrays. Version 2 added phase summaries; a run without
// them is still of version 1.
inline constexpr std::int64_t version_for(Kept kept) { return kept == Kept::phase_summaries ? 2 : 1; }

json::Value array_metadata(const ArrayLayout& layout);
// Returns the group's metadata with that of all arrays inline ("consolidated"), so that a reader opens one
// file.
json::Value group_metadata(std::span<const ArrayLayout> layouts, const json::Object& attributes);

// True if equal except for the order of members, which has no meaning and which other programs change.
bool same(const json::Value& a, const json::Value& b);

}  // namespace crosscut::store
