// Shared by the fuzz targets. A target aborts if an invariant does not hold; UsageError and RunError are
// valid answers, any other exception is a finding.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace crosscut::tests {

inline void hold(bool condition, std::string_view what) {
  if (condition) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

// Returns true if `body` completed, false if it refused the input in a valid way.
template <typename Body>
bool accepts(Body&& body) {
  try {
    body();
    return true;
  } catch (const UsageError& error) {
    hold(error.what()[0] != '\0', "an error says what is wrong");
  } catch (const RunError& error) {
    hold(error.what()[0] != '\0', "an error says what is wrong");
  }
  return false;
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace crosscut::tests
