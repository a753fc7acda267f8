// Converts the session's secret between text and bytes.
#include <string.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "base/words.hpp"
#include "session/session_config.hpp"

namespace crosscut::session {
namespace {

constexpr std::size_t secret_bytes = 32;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

int value_of(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

}  // namespace

std::string checked_secret(const std::string& hex) {
  if (hex.size() != 2 * secret_bytes || !std::ranges::all_of(hex, is_hex))
    throw UsageError("`secret` must be 64 hex digits");
  return hex;
}

std::string secret_from_environment() {
  char* text = std::getenv("CROSSCUT_SECRET");
  if (text == nullptr) return {};
  const std::string secret = checked_secret(text);
  ::explicit_bzero(text, secret.size());  // /proc/PID/environ shows this memory
  ::unsetenv("CROSSCUT_SECRET");
  return secret;
}

std::string random_secret() {
  std::array<std::uint8_t, secret_bytes> bytes{};
  fill_random(bytes);
  return hex(bytes);
}

std::string bytes_of_secret(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(value_of(hex[i]) * 16 + value_of(hex[i + 1])));
  return bytes;
}

}  // namespace crosscut::session
