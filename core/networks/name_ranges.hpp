// "n[000-015,020]": names that count, as Slurm and pdsh write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crosscut::networks {

// Appends the names in their order; several brackets multiply, the last counting fastest. Leading zeros are
// kept. Throws UsageError for what is no list, and before it would make more than `most` names in all.
void expand_names(std::string_view text, std::size_t most, std::vector<std::string>& names);

}  // namespace crosscut::networks
