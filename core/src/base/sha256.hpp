// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), for the handshake between ranks and for copies.
// Implemented here because the core depends on no library; tested against the standards' own vectors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace crosscut {

using Digest = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  Sha256();
  Sha256& add(std::span<const std::uint8_t> bytes);
  Digest finish();

 private:
  void compress(const std::uint8_t* blocks, std::size_t count);
  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> pending_{};
  std::size_t pending_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
};

std::span<const std::uint8_t> octets(const auto& bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

// Returns the HMAC of the concatenated parts.
Digest hmac_sha256(std::string_view key, std::initializer_list<std::span<const std::uint8_t>> parts);

// Takes the same time wherever the inputs of equal length differ.
bool equal_in_constant_time(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b);

// Fills `bytes` from the kernel (getrandom). Throws RunError if that fails.
void fill_random(std::span<std::uint8_t> bytes);

}  // namespace crosscut
