#include "session/handshake.hpp"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace crosscut::session {
namespace {

constexpr std::array<char, 8> magic{'c', 'r', 'o', 's', 's', 'c', 't', '1'};
constexpr int out_of_files_milliseconds = 10;
constexpr std::size_t challenge_bytes = magic.size() + 32;
constexpr std::size_t hello_bytes = 20;
constexpr std::size_t proof_bytes = hello_bytes + 32 + 32;
static_assert(sizeof(Hello) == hello_bytes);

Digest code(std::string_view secret, std::string_view role, const Digest& listener_nonce,
            std::span<const std::byte> hello_and_nonce) {
  return hmac_sha256(secret, {octets(role), listener_nonce, octets(hello_and_nonce)});
}

}  // namespace

Fd connect_authenticated(const Address& to, const std::optional<Address>& from, std::string_view secret,
                         const Hello& hello, Deadline deadline) {
  Fd fd = connect_to(to, from, deadline);
  try {
    std::array<std::byte, challenge_bytes> challenge;
    receive_all(fd.get(), challenge, deadline);
    if (std::memcmp(challenge.data(), magic.data(), magic.size()) != 0) {
      throw ConnectionLost("something other than crosscut answers there");
    }
    Digest listener_nonce;
    std::memcpy(listener_nonce.data(), challenge.data() + magic.size(), listener_nonce.size());
    std::array<std::byte, proof_bytes> proof;
    Digest nonce;
    fill_random(nonce);
    std::memcpy(proof.data(), &hello, hello_bytes);
    std::memcpy(proof.data() + hello_bytes, nonce.data(), nonce.size());
    const std::span<const std::byte> said(proof.data(), hello_bytes + nonce.size());
    const auto mine = code(secret, "connect", listener_nonce, said);
    std::memcpy(proof.data() + said.size(), mine.data(), mine.size());
    send_all(fd.get(), proof, deadline);
    std::array<std::byte, 32> answer;
    receive_all(fd.get(), answer, deadline);
    if (!equal_in_constant_time(octets(answer), code(secret, "accept", listener_nonce, said))) {
      throw ConnectionLost("the listener does not know this run's secret");
    }
  } catch (const ConnectionLost& lost) {
    throw ConnectionLost("handshake with " + to.text() + ": " + lost.what());
  }
  return fd;
}

Acceptor::Acceptor(const Address& interface, std::string secret, double patience_seconds)
    : secret_(std::move(secret)),
      patience_seconds_(patience_seconds),
      listener_(listen_on(interface)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) throw_errno("create an epoll instance");
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), &event) != 0) throw_errno("watch a listener");
}

Address Acceptor::address() const { return local_address(listener_.get()); }

void Acceptor::accept_new() {
  // Bound the loop, so that a flood of connections cannot hold a rank here.
  for (std::size_t i = 0; i < most_pending; ++i) {
    Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EMFILE && errno != ENFILE) return;
      if (pending_.empty()) {
        ::poll(nullptr, 0, out_of_files_milliseconds);  // the listener stays readable: do not spin
        return;
      }
      pending_.pop_front();
      continue;
    }
    if (pending_.size() >= most_pending) pending_.pop_front();
    auto& pending = pending_.emplace_back();
    pending.fd = std::move(fd);
    pending.deadline = after_seconds(patience_seconds_);
    fill_random(pending.nonce);
    std::array<std::byte, challenge_bytes> challenge;
    std::memcpy(challenge.data(), magic.data(), magic.size());
    std::memcpy(challenge.data() + magic.size(), pending.nonce.data(), pending.nonce.size());
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &pending}};
    // Forty bytes always fit in the send buffer of a new connection.
    if (::send(pending.fd.get(), challenge.data(), challenge.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
            static_cast<ssize_t>(challenge.size()) ||
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pending.fd.get(), &event) != 0) {
      pending_.pop_back();
    }
  }
}

// Returns true if `pending` is finished, accepted or not.
bool Acceptor::advance(Pending& pending, const std::function<void(Accepted)>& accepted) {
  static_assert(sizeof(pending.received) == proof_bytes);
  while (pending.have < proof_bytes) {
    const auto got = ::recv(pending.fd.get(), pending.received.data() + pending.have,
                            proof_bytes - pending.have, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (got <= 0) return true;
    pending.have += static_cast<std::size_t>(got);
  }
  const std::span<const std::byte> said(pending.received.data(), proof_bytes - 32);
  const std::span<const std::byte> theirs(pending.received.data() + said.size(), 32);
  if (!equal_in_constant_time(octets(theirs), code(secret_, "connect", pending.nonce, said))) return true;
  const auto answer = code(secret_, "accept", pending.nonce, said);
  if (::send(pending.fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(answer.size())) {
    return true;
  }
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, pending.fd.get(), nullptr);
  make_stream(pending.fd.get());
  Accepted done{std::move(pending.fd), {}};
  std::memcpy(&done.hello, said.data(), hello_bytes);
  accepted(std::move(done));
  return true;
}

void Acceptor::service(const std::function<void(Accepted)>& accepted) {
  std::array<epoll_event, 64> events;
  const int ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool new_ones = false;
  for (int i = 0; i < ready; ++i) {
    auto* pending = static_cast<Pending*>(events[static_cast<std::size_t>(i)].data.ptr);
    if (pending == nullptr) {
      new_ones = true;
    } else if (advance(*pending, accepted)) {
      pending_.remove_if([&](const Pending& other) { return &other == pending; });
    }
  }
  // Accept last: it may drop a connection that a pending event still points to.
  if (new_ones) accept_new();
  const auto now = std::chrono::steady_clock::now();
  while (!pending_.empty() && pending_.front().deadline <= now) pending_.pop_front();
}

}  // namespace crosscut::session
