// A stranger without the run's secret does not get in, and a crowd of strangers keeps no rank out.
#include <algorithm>

#include "session/handshake.hpp"
#include "tests/check.hpp"
#include "tests/stranger.hpp"

using namespace crosscut;
using namespace crosscut::session;
using namespace crosscut::tests;

namespace {

const std::string secret(32, 's');
const Hello hello{Purpose::data, 7, 3, 2, 1};

Deadline soon() { return after_seconds(enough_seconds); }

bool same(const Hello& a, const Hello& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// Returns true if a listener accepted this answer to its challenge as a rank's.
bool lets_in(Door& door, Fd fd, std::span<const std::byte> answer) {
  const auto before = door.let_in().size();
  send_all(fd.get(), answer, soon());
  REQUIRE(door.serve_until([&] { return !door.has_pending(); }));
  return door.let_in().size() > before;
}

// Connects in another thread, as a rank does. The result is empty, or why it was not accepted.
class Caller {
 public:
  Caller(const Address& to, std::string with_secret, double patience_seconds = enough_seconds)
      : thread_([=, this] {
          try {
            fd_ = connect_authenticated(to, {}, with_secret, hello, after_seconds(patience_seconds));
          } catch (const ConnectionLost& lost) {
            problem_ = lost.what();
          }
          ended_ = true;
        }) {}
  ~Caller() { join(); }
  bool ended() const { return ended_; }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  const std::string& problem() const { return problem_; }
  Fd& fd() { return fd_; }

 private:
  Fd fd_;
  std::string problem_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

// Sends the given bytes to a peer that connects, and keeps what it receives.
class Impostor {
 public:
  Address address() const { return local_address(listener_.get()); }
  Fd take() {
    Fd fd;
    const auto deadline = soon();
    while (!fd && milliseconds_left(deadline) > 0) {
      fd.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    REQUIRE(static_cast<bool>(fd));
    return fd;
  }

 private:
  Fd listener_ = listen_on(Address::of_interface("127.0.0.1"));
};

std::array<std::byte, challenge_bytes> challenge_with(const Digest& nonce) {
  std::array<std::byte, challenge_bytes> challenge;
  std::memcpy(challenge.data(), "crossct1", 8);
  std::memcpy(challenge.data() + 8, nonce.data(), nonce.size());
  return challenge;
}

}  // namespace

TEST(two_that_know_the_secret_meet_and_the_hello_arrives_as_it_was) {
  Door door(secret);
  Caller caller(door.address(), secret);
  REQUIRE(door.serve_until([&] { return caller.ended(); }));
  caller.join();
  CHECK_EQ(caller.problem(), "");
  REQUIRE(door.let_in().size() == 1);
  CHECK(same(door.let_in()[0].hello, hello));
  CHECK(!door.has_pending());
  const std::array<std::byte, 3> sent{std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, 3> received{};
  send_all(caller.fd().get(), sent, soon());
  receive_all(door.let_in()[0].fd.get(), received, soon());
  CHECK(sent == received);
}

TEST(a_peer_with_another_secret_is_turned_away_and_told_nothing) {
  for (const std::string& wrong : {std::string(32, 'x'), std::string(), std::string(33, 's')}) {
    Door door(secret);
    Caller caller(door.address(), wrong);
    REQUIRE(door.serve_until([&] { return caller.ended(); }));
    caller.join();
    CHECK(caller.problem().find("handshake with 127.0.0.1:") == 0);
    CHECK_EQ(door.let_in().size(), 0);
  }
}

TEST(a_listener_without_the_secret_is_detected) {
  for (const bool reflects : {false, true}) {
    Impostor impostor;
    Caller caller(impostor.address(), secret);
    Fd fd = impostor.take();
    send_all(fd.get(), challenge_with(Digest{}), soon());
    Proof proof;
    receive_all(fd.get(), proof, soon());
    std::array<std::byte, 32> answer{};
    if (reflects) std::copy(proof.end() - 32, proof.end(), answer.begin());
    send_all(fd.get(), answer, soon());
    caller.join();
    CHECK(caller.problem().find("does not know this run's secret") != std::string::npos);
  }
}

TEST(another_service_on_the_port_is_named_as_such) {
  Impostor impostor;
  Caller caller(impostor.address(), secret);
  Fd fd = impostor.take();
  const std::string greeting = "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n";
  send_all(fd.get(), std::as_bytes(std::span(greeting)), soon());
  caller.join();
  CHECK(caller.problem().find("something other than crosscut answers there") != std::string::npos);
}

TEST(a_silent_listener_is_given_up) {
  Impostor impostor;
  Caller caller(impostor.address(), secret, 0.05);
  const Fd fd = impostor.take();
  caller.join();
  CHECK(caller.problem().find("no answer in time") != std::string::npos);
}

TEST(a_right_answer_is_accepted_but_not_with_any_bit_flipped) {
  Door door(secret);
  auto [fd, nonce] = door.knock();
  CHECK(lets_in(door, std::move(fd), proof_of(secret, hello, nonce, Digest{})));
  for (std::size_t bit = 0; bit < proof_bytes * 8; ++bit) {
    auto [other, challenge] = door.knock();
    Proof proof = proof_of(secret, hello, challenge, Digest{});
    proof[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    if (lets_in(door, std::move(other), proof)) CHECK_EQ("flipped bit " + std::to_string(bit), "turned away");
  }
}

TEST(a_hello_cannot_be_replayed) {
  Door door(secret);
  auto [first, nonce] = door.knock();
  const Proof proof = proof_of(secret, hello, nonce, Digest{});
  CHECK(lets_in(door, std::move(first), proof));
  for (int i = 0; i < 10; ++i) {
    auto [again, other_nonce] = door.knock();
    CHECK(other_nonce != nonce);
    CHECK(!lets_in(door, std::move(again), proof));
  }
}

TEST(the_answer_may_come_byte_by_byte) {
  Door door(secret);
  auto [fd, nonce] = door.knock();
  for (const std::byte byte : proof_of(secret, hello, nonce, Digest{})) {
    CHECK_EQ(door.let_in().size(), 0);
    send_all(fd.get(), std::span(&byte, 1), soon());
    door.serve();
  }
  CHECK(door.serve_until([&] { return door.let_in().size() == 1; }));
}

TEST(a_peer_that_disconnects_in_the_middle_is_forgotten) {
  Door door(secret);
  for (std::size_t said = 0; said < proof_bytes; said += 7) {
    auto [fd, nonce] = door.knock();
    const Proof proof = proof_of(secret, hello, nonce, Digest{});
    send_all(fd.get(), std::span(proof).first(said), soon());
    ::shutdown(fd.get(), SHUT_WR);
    CHECK(!lets_in(door, std::move(fd), {}));
  }
}

TEST(a_peer_that_is_too_slow_is_disconnected) {
  Door door(secret, 0.05);
  const Fd silent = door.knock().first;
  CHECK(door.serve_until([&] { return !door.has_pending(); }));
  std::array<std::byte, 1> byte;
  CHECK_THROWS(ConnectionLost, receive_all(silent.get(), byte, soon()));
  CHECK_EQ(door.let_in().size(), 0);
}

TEST(a_crowd_of_strangers_does_not_keep_a_rank_out) {
  Door door(secret);
  std::vector<Fd> crowd;
  for (int i = 0; i < 1000; ++i) {
    crowd.push_back(connect_to(door.address(), {}, soon()));
    if (i % 100 == 99) door.serve();
  }
  door.serve();
  Caller caller(door.address(), secret);
  REQUIRE(door.serve_until([&] { return caller.ended(); }));
  caller.join();
  CHECK_EQ(caller.problem(), "");
  REQUIRE(door.let_in().size() == 1);
  CHECK(same(door.let_in()[0].hello, hello));
  // At most this many of the crowd are held; the oldest were dropped.
  std::size_t held = 0;
  for (const Fd& fd : crowd) {
    std::array<std::byte, 64> said;
    ssize_t got = 0;
    while ((got = ::recv(fd.get(), said.data(), said.size(), MSG_DONTWAIT)) > 0) {
    }
    if (got < 0 && errno == EAGAIN) ++held;
  }
  CHECK(held <= Acceptor::most_pending);
  CHECK(held >= Acceptor::most_pending - 1);
}
