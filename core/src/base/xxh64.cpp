#include "base/xxh64.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace crosscut {
namespace {

static_assert(std::endian::native == std::endian::little, "lanes are read in native byte order");

constexpr std::uint64_t prime_1 = 0x9e3779b185ebca87, prime_2 = 0xc2b2ae3d27d4eb4f,
                        prime_3 = 0x165667b19e3779f9, prime_4 = 0x85ebca77c2b2ae63,
                        prime_5 = 0x27d4eb2f165667c5;
constexpr std::size_t stripe_bytes = 32;

template <class T>
T lane_at(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

constexpr std::uint64_t round(std::uint64_t accumulator, std::uint64_t lane) {
  return std::rotl(accumulator + lane * prime_2, 31) * prime_1;
}

constexpr std::uint64_t merge(std::uint64_t accumulator, std::uint64_t lane) {
  return (accumulator ^ round(0, lane)) * prime_1 + prime_4;
}

// Consumes whole stripes from the front.
std::uint64_t take_stripes(std::span<const std::byte>& bytes, std::uint64_t seed) {
  std::array<std::uint64_t, 4> lanes{seed + prime_1 + prime_2, seed + prime_2, seed, seed - prime_1};
  for (; bytes.size() >= stripe_bytes; bytes = bytes.subspan(stripe_bytes))
    for (std::size_t i = 0; i < lanes.size(); ++i)
      lanes[i] = round(lanes[i], lane_at<std::uint64_t>(bytes.data() + 8 * i));
  std::uint64_t sum =
      std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
  for (const std::uint64_t lane : lanes) sum = merge(sum, lane);
  return sum;
}

constexpr std::uint64_t avalanche(std::uint64_t sum) {
  sum = (sum ^ (sum >> 33)) * prime_2;
  sum = (sum ^ (sum >> 29)) * prime_3;
  return sum ^ (sum >> 32);
}

}  // namespace

std::uint64_t xxh64(std::span<const std::byte> bytes, std::uint64_t seed) {
  const std::uint64_t length = bytes.size();
  std::uint64_t sum = length >= stripe_bytes ? take_stripes(bytes, seed) : seed + prime_5;
  sum += length;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8))
    sum = std::rotl(sum ^ round(0, lane_at<std::uint64_t>(bytes.data())), 27) * prime_1 + prime_4;
  if (bytes.size() >= 4) {
    sum = std::rotl(sum ^ (lane_at<std::uint32_t>(bytes.data()) * prime_1), 23) * prime_2 + prime_3;
    bytes = bytes.subspan(4);
  }
  for (const std::byte byte : bytes)
    sum = std::rotl(sum ^ (std::to_integer<std::uint64_t>(byte) * prime_5), 11) * prime_1;
  return avalanche(sum);
}

}  // namespace crosscut
