// Frames from a connection, and every kind of message in a frame.
#include <sys/socket.h>

#include <array>

#include "session/messages.hpp"
#include "tests/fuzz.hpp"

using namespace crosscut;
using namespace crosscut::measure;
using namespace crosscut::session;
using namespace crosscut::tests;

namespace {

template <typename Message>
void unpacked(std::span<const std::byte> payload) {
  const auto packed = pack(unpack<Message>(payload));
  hold(packed.size() == payload.size(), "a message is as long as its frame");
  hold(pack(unpack<Message>(packed)) == packed, "a message travels unchanged");
}

void message(std::uint8_t kind, std::span<const std::byte> payload) {
  switch (kind % 7) {
    case 0:
      return unpacked<Joined>(payload);
    case 1:
      return unpacked<Welcome>(payload);
    case 2:
      return unpacked<Ready>(payload);
    case 3:
      return unpacked<RunOrder>(payload);
    case 4:
      return unpacked<Complaint>(payload);
    case 5:
      return unpacked<Refusal>(payload);
    default:
      return unpacked<RankSamples>(payload);
  }
}

// Reads frames until the other end closes.
void frames(std::span<const std::byte> bytes) {
  std::array<int, 2> ends{};
  hold(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "there are sockets");
  const Fd here(ends[0]);
  {
    const Fd there(ends[1]);
    send_all(there.get(), bytes, after_seconds(10));
  }
  try {
    for (;;) {
      const Frame frame = receive_frame(here.get(), after_seconds(10), 1 << 20);
      hold(frame.payload.size() + 8 <= bytes.size(), "a frame holds only what came");
    }
  } catch (const ConnectionLost&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto payload = std::as_bytes(std::span(data + 1, size - 1));
  accepts([&] { data[0] % 16 == 15 ? frames(payload) : message(data[0], payload); });
  return 0;
}
