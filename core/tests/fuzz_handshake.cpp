// A stranger connects to a rank. It is accepted only after the complete right answer.
#include "tests/fuzz.hpp"
#include "tests/stranger.hpp"

using namespace crosscut;
using namespace crosscut::session;
using namespace crosscut::tests;

namespace {

const std::string secret(32, 's');

// Resets connections instead of closing them: ports in TIME_WAIT would soon run out.
void hang_up(Fd fd) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

struct Answer {
  std::vector<std::byte> bytes;
  bool is_right = false;
};

// The right answer, changed by the input.
Answer answer_to(const Digest& nonce, FuzzedDataProvider& input) {
  const Hello hello{static_cast<Purpose>(input.ConsumeIntegral<std::uint32_t>()),
                    input.ConsumeIntegral<Rank>(), input.ConsumeIntegral<std::uint32_t>(), 0, 0};
  const Proof right = proof_of(secret, hello, nonce, Digest{});
  Answer answer{{right.begin(), right.end()}};
  for (int changes = input.ConsumeIntegralInRange(0, 4); changes > 0; --changes)
    answer.bytes[input.ConsumeIntegralInRange<std::size_t>(0, proof_bytes - 1)] ^=
        static_cast<std::byte>(input.ConsumeIntegral<std::uint8_t>());
  answer.bytes.resize(input.ConsumeIntegralInRange<std::size_t>(0, proof_bytes + 8), std::byte{7});
  if (input.ConsumeBool()) {
    const auto noise = input.ConsumeRemainingBytes<std::uint8_t>();
    answer.bytes.assign(reinterpret_cast<const std::byte*>(noise.data()),
                        reinterpret_cast<const std::byte*>(noise.data()) + noise.size());
  }
  answer.is_right =
      answer.bytes.size() >= proof_bytes && std::equal(right.begin(), right.end(), answer.bytes.begin());
  return answer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Door door(secret);
  FuzzedDataProvider input(data, size);
  door.let_in().clear();
  Fd fd = connect_to(door.address(), {}, after_seconds(enough_seconds));
  while (!door.has_pending()) door.serve();
  std::array<std::byte, challenge_bytes> challenge;
  receive_all(fd.get(), challenge, after_seconds(enough_seconds));
  const std::size_t pieces = input.ConsumeIntegralInRange<std::size_t>(1, 3);
  const Answer answer = answer_to(nonce_of(challenge), input);
  std::span<const std::byte> left(answer.bytes);
  for (std::size_t piece = 1; piece <= pieces; ++piece) {
    const auto now = left.first(left.size() / (pieces - piece + 1));
    left = left.subspan(now.size());
    try {
      send_all(fd.get(), now, after_seconds(enough_seconds));
    } catch (const ConnectionLost&) {  // disconnected before it had sent everything
    }
    door.serve();
  }
  hold(door.let_in().size() == (answer.is_right ? 1 : 0), "only the right answer opens");
  if (answer.is_right)
    hold(std::memcmp(&door.let_in()[0].hello, answer.bytes.data(), sizeof(Hello)) == 0,
         "the hello is what was said");
  hang_up(std::move(fd));
  while (door.has_pending()) door.serve();
  return 0;
}
