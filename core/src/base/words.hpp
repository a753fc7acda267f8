// Words in messages: what the user typed, made safe to print, and what was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace crosscut {

// "text" in quotes; control characters and bytes outside ASCII as \xNN, long text cut.
std::string shown(std::string_view text);

// The names nearest to a misspelt one: "; did you mean \"aapc\"?" - or, when none is near, all of them:
// "; there are aapc, pairs". Starts with a semicolon so that it can be appended to any message.
std::string suggestion(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace crosscut
