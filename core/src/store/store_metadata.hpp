// The zarr.json files of a run (Zarr core specification, version 3).
#pragma once

#include <span>

#include "base/json.hpp"
#include "store/layout.hpp"

namespace crosscut::store {

inline constexpr std::string_view schema_name = "crosscut-run";
inline constexpr std::int64_t schema_version = 2;
// The oldest version whose readers know all arrays: 2 has phase summaries, and what holds none is still of 1.
inline constexpr std::int64_t version_for(Kept kept) { return kept == Kept::phase_summaries ? 2 : 1; }

json::Value array_metadata(const ArrayLayout& layout);
// With the metadata of all arrays inline ("consolidated"), so that a reader opens one file.
json::Value group_metadata(std::span<const ArrayLayout> layouts, const json::Object& attributes);

// Equal but for the order of members, which means nothing and which other programs change.
bool same(const json::Value& a, const json::Value& b);

}  // namespace crosscut::store
