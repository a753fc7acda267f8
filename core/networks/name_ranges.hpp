// Expands ranges of names, "n[000-015,020]", as Slurm and pdsh write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crosscut::networks {

// Appends the names in order. Several brackets multiply, the last one varying fastest. Leading zeros are
// kept. Throws UsageError if `text` is not a list of names, and before it would make more than `most` names
// in all.
void expand_names(std::string_view text, std::size_t most, std::vector<std::string>& names);

}  // namespace crosscut::networks
