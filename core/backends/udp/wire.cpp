#include "backends/udp/wire.hpp"

#include "base/error.hpp"
#include "base/sha256.hpp"

namespace crosscut::backends::udp {

void check_introduction(const Introduction& said, Rank peer) {
  if (said.magic != Introduction{}.magic || said.port == 0 || said.chunk_bytes < least_chunk_bytes ||
      said.chunk_bytes > most_chunk_bytes) {
    throw RunError(
        "rank " + std::to_string(peer) +
        " does not introduce itself as the udp backend of this version does; are all nodes running "
        "the same crosscut?");
  }
}

std::uint64_t token_of(std::string_view secret, const Nonce& nonce) {
  constexpr std::string_view role = "udp";
  const auto digest =
      hmac_sha256(secret, {{reinterpret_cast<const std::uint8_t*>(role.data()), role.size()}, nonce});
  std::uint64_t token = 0;
  std::memcpy(&token, digest.data(), sizeof token);
  return token;
}

}  // namespace crosscut::backends::udp
