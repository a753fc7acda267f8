#pragma once

#include <cstdint>

namespace crosscut {

using Rank = std::int32_t;

}  // namespace crosscut
