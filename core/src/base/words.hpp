// Words in messages: user input made safe to print, and suggestions for misspelt names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace crosscut {

// Returns `text` in quotes, with control characters and bytes outside ASCII as \xNN, and cut if long.
std::string shown(std::string_view text);

// Returns the names nearest to a misspelt one: "; did you mean \"aapc\"?" - or, if none is near, all of them:
// "; there are aapc, pairs". The text starts with a semicolon so that it can be appended to any message.
std::string suggestion(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace crosscut
