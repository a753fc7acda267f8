// The other end of a handshake, step by step: what a stranger may send to a rank's listener.
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "session/handshake.hpp"

namespace crosscut::tests {

inline constexpr std::size_t challenge_bytes = 40;  // magic, nonce
inline constexpr std::size_t proof_bytes = 84;      // hello, nonce, code
inline constexpr double enough_seconds = 20;        // enough on a busy machine

using Proof = std::array<std::byte, proof_bytes>;

inline Digest nonce_of(std::span<const std::byte> challenge) {
  Digest nonce;
  std::memcpy(nonce.data(), challenge.data() + 8, nonce.size());
  return nonce;
}

inline std::span<const std::uint8_t> as_octets(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

// Returns the answer to a challenge of a rank that knows `secret`.
inline Proof proof_of(std::string_view secret, const session::Hello& hello, const Digest& listener_nonce,
                      const Digest& own_nonce) {
  Proof proof;
  std::memcpy(proof.data(), &hello, sizeof hello);
  std::memcpy(proof.data() + sizeof hello, own_nonce.data(), own_nonce.size());
  constexpr std::string_view role = "connect";
  const auto said = std::span(proof).first(proof_bytes - 32);
  const Digest code =
      hmac_sha256(secret, {as_octets(std::as_bytes(std::span(role))), listener_nonce, as_octets(said)});
  std::memcpy(proof.data() + said.size(), code.data(), code.size());
  return proof;
}

// A listener and the connections that it accepted as ranks.
class Door {
 public:
  explicit Door(std::string secret, double patience_seconds = enough_seconds)
      : acceptor_(session::Address::of_interface("127.0.0.1"), std::move(secret), patience_seconds) {}

  void serve() {
    acceptor_.service([this](session::Acceptor::Accepted one) { let_in_.push_back(std::move(one)); });
  }
  // Serves until `done` holds; returns false if it never did.
  template <typename Done>
  bool serve_until(Done&& done) {
    const auto deadline = after_seconds(enough_seconds);
    while (!done()) {
      if (milliseconds_left(deadline) == 0) return false;
      serve();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  // A new connection that has been challenged.
  std::pair<Fd, Digest> knock() {
    Fd fd = session::connect_to(address(), {}, after_seconds(enough_seconds));
    std::array<std::byte, challenge_bytes> challenge;
    std::size_t have = 0;
    serve_until([&] {
      const auto got = ::recv(fd.get(), challenge.data() + have, challenge.size() - have, MSG_DONTWAIT);
      if (got > 0) have += static_cast<std::size_t>(got);
      return have == challenge.size();
    });
    return {std::move(fd), nonce_of(challenge)};
  }
  session::Address address() const { return acceptor_.address(); }
  bool has_pending() const { return acceptor_.has_pending(); }
  std::vector<session::Acceptor::Accepted>& let_in() { return let_in_; }

 private:
  session::Acceptor acceptor_;
  std::vector<session::Acceptor::Accepted> let_in_;
};

}  // namespace crosscut::tests
