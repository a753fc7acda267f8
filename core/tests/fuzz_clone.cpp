// The input of a rank in a copy: messages about the copy, and its neighbours' bytes in the chain.
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "clone/chunk_stream.hpp"
#include "clone/clone_messages.hpp"
#include "session/socket.hpp"
#include "tests/fuzz.hpp"

using namespace crosscut;
using namespace crosscut::clone;
using namespace crosscut::session;
using namespace crosscut::tests;

namespace {

constexpr std::int64_t chunk_bytes = 64, image_bytes = 10 * chunk_bytes + 7;

template <typename Message>
void travels(Message (*parse)(const json::Value&), std::string_view text) {
  const std::string written = json::write(to_json(parse(json::parse(text))));
  hold(json::write(to_json(parse(json::parse(written)))) == written, "a message travels unchanged");
}

Image image() {
  Fd fd(::memfd_create("image", MFD_CLOEXEC));
  hold(fd && ::ftruncate(fd.get(), image_bytes) == 0, "there is memory");
  return {std::move(fd), "image", image_bytes};
}

// A neighbour that sends these bytes and then nothing.
Fd neighbour(std::span<const std::byte> bytes, Fd& here) {
  std::array<int, 2> ends{};
  hold(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "there are sockets");
  here.reset(ends[0]);
  Fd there(ends[1]);
  send_all(there.get(), bytes, after_seconds(10));
  ::shutdown(there.get(), SHUT_WR);
  return there;
}

void hears(std::span<const std::byte> bytes, ChunkMap::Owner owner) {
  Fd here;
  const Fd there = neighbour(bytes, here);
  const Image stored = image();
  ChunkMap map(image_bytes, chunk_bytes, owner);
  const ChunkStore store{map, stored, [] {}};
  const RailConnection connection{.fd = here.get(), .rail = 0, .rails = 1, .patience_seconds = 10};
  try {
    owner == ChunkMap::Owner::source ? send_chunks(store, connection, {}) : receive_chunks(store, connection);
  } catch (const ConnectionLost&) {
  }
  const auto counts = map.counts();
  hold(counts.received_bytes + counts.kept_bytes <= image_bytes, "no chunk counts twice");
  struct stat status {};
  hold(::fstat(stored.fd(), &status) == 0 && status.st_size == image_bytes,
       "nothing is written behind the end");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = text_of(data + 1, size - 1);
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  accepts([&] {
    switch (data[0] % 6) {
      case 0:
        return travels(parse_clone_job, text);
      case 1:
        return travels(parse_chain, text);
      case 2:
        return travels(parse_prepared, text);
      case 3:
        return travels(parse_standing, text);
      case 4:
        return hears(bytes, ChunkMap::Owner::source);
      default:
        return hears(bytes, ChunkMap::Owner::target);
    }
  });
  return 0;
}
