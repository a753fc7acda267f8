#pragma once

#include <string_view>

namespace crosscut {

// From pyproject.toml, through CMake.
inline constexpr std::string_view version = CROSSCUT_VERSION;

}  // namespace crosscut
