// Two neighbours of a chain over a real socket pair, and interference between them.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <thread>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/xxh64.hpp"
#include "clone/chunk_stream.hpp"
#include "session/socket.hpp"
#include "session/wire.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::clone;
using namespace crosscut::session;

namespace {

constexpr std::int64_t chunk_bytes = 1000, image_bytes = 10 * chunk_bytes + 7;

Image temporary_image(bool filled) {
  std::string name = "/tmp/crosscut-test-XXXXXX";
  Fd fd(::mkstemp(name.data()));
  ::unlink(name.c_str());
  CHECK(::ftruncate(fd.get(), image_bytes) == 0);
  Image image(std::move(fd), name, image_bytes);
  std::vector<std::byte> bytes(image_bytes);
  for (std::size_t i = 0; filled && i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7919 >> 5);
  image.write_at(bytes, 0);
  return image;
}

std::vector<std::byte> content(const Image& image) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(image.bytes()));
  image.read_at(bytes, 0);
  return bytes;
}

struct Pair {
  Fd a, b;
  Pair() {
    std::array<int, 2> ends{};
    CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    a.reset(ends[0]);
    b.reset(ends[1]);
  }
};

struct Side {
  Image image;
  ChunkMap map;
  ChunkStore store{map, image, [] {}};
  explicit Side(ChunkMap::Owner owner)
      : image(temporary_image(owner == ChunkMap::Owner::source)), map(image_bytes, chunk_bytes, owner) {}
};

RailConnection connection(const Fd& fd) {
  return {.fd = fd.get(), .rail = 0, .rails = 1, .patience_seconds = 10};
}

void forward(int from, int to, std::size_t bytes, bool damage) {
  std::vector<std::byte> held(bytes);
  receive_all(from, held, after_seconds(10));
  if (damage) held.back() ^= std::byte{1};
  send_all(to, held, after_seconds(10));
}

// Runs the sender; returns the receiver's error, or an empty string.
std::string received(Side& source, Side& target, const Fd& sending, const Fd& receiving) {
  std::thread sender([&] {
    try {
      send_chunks(source.store, connection(sending), {});
    } catch (const ConnectionLost&) {
    }
  });
  std::string why;
  try {
    receive_chunks(target.store, connection(receiving));
  } catch (const std::exception& error) {
    why = error.what();
    ::shutdown(receiving.get(), SHUT_RDWR);
  }
  sender.join();
  return why;
}

// Forwards everything between two sockets, and damages the last byte of chunk `damaged` a number of times.
void stand_between(int sender, int receiver, Chunk damaged, int times) {
  try {
    while (true) {
      const Frame needed = receive_frame(receiver, after_seconds(10));
      send_frame(sender, needed.type, needed.payload, after_seconds(10));
      const auto chunks = Reader(needed.payload).get<std::vector<Chunk>>();
      if (chunks.empty()) return;
      for (const Chunk chunk : chunks) {
        std::array<std::uint64_t, 4> head;
        receive_all(sender, std::as_writable_bytes(std::span(head)), after_seconds(10));
        send_all(receiver, std::as_bytes(std::span(head)), after_seconds(10));
        if (head[2] > 0) forward(sender, receiver, head[2], chunk == damaged && times-- > 0);
      }
    }
  } catch (const ConnectionLost&) {
    for (const int fd : {sender, receiver}) ::shutdown(fd, SHUT_RDWR);
  }
}

std::string received_through(Side& source, Side& target, Chunk damaged, int times) {
  Pair before, behind;
  std::thread between([&] { stand_between(before.b.get(), behind.a.get(), damaged, times); });
  const std::string why = received(source, target, before.a, behind.b);
  between.join();
  return why;
}

// Sends something to a receiver as its sender; returns the complaint.
std::string complaint_about(const std::array<std::uint64_t, 4>& head) {
  Side target(ChunkMap::Owner::target);
  Pair pair;
  send_all(pair.a.get(), std::as_bytes(std::span(head)), after_seconds(10));
  try {
    receive_chunks(target.store, connection(pair.b));
  } catch (const RunError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST(all_chunks_arrive_and_those_already_right_are_not_sent) {
  Side source(ChunkMap::Owner::source), target(ChunkMap::Owner::target);
  const auto bytes = content(source.image);
  for (const Chunk chunk : {Chunk{0}, Chunk{10}}) {
    const auto own = std::span(bytes).subspan(static_cast<std::size_t>(chunk * chunk_bytes),
                                              static_cast<std::size_t>(target.map.size(chunk)));
    target.image.write_at(own, chunk * chunk_bytes);
    target.map.note(chunk, xxh64(own));
  }
  target.map.note(3, 42);  // wrong content
  Pair pair;
  CHECK_EQ(received(source, target, pair.a, pair.b), "");
  CHECK(content(target.image) == bytes);
  CHECK_EQ(target.map.counts().kept_bytes, chunk_bytes + 7);
  CHECK_EQ(target.map.counts().received_bytes, 9 * chunk_bytes);
}

TEST(a_damaged_chunk_is_requested_again_and_never_forwarded) {
  Side source(ChunkMap::Owner::source), target(ChunkMap::Owner::target);
  CHECK_EQ(received_through(source, target, 4, 2), "");
  CHECK(content(target.image) == content(source.image));
  CHECK_EQ(target.map.counts().received_bytes, image_bytes);
}

TEST(a_repeatedly_damaged_chunk_ends_the_connection) {
  Side source(ChunkMap::Owner::source), target(ChunkMap::Owner::target);
  const std::string why = received_through(source, target, 4, 1000);
  CHECK(why.find("arrived damaged") != std::string::npos);
  CHECK(why.find("bytes from 4000 on") != std::string::npos);
  CHECK(!target.map.checksum(4));
}

TEST(a_sender_that_breaks_the_rules_is_named_and_writes_nothing) {
  constexpr std::uint64_t bytes = 1, right = 2;
  for (const auto& head : {std::array<std::uint64_t, 4>{1, bytes, 1000, 0},  // not requested
                           {~0ull, bytes, 1000, 0},
                           {0, bytes, 1001, 0},  // longer than a chunk
                           {0, bytes, ~0ull, 0},
                           {0, 3, 0, 0},  // of unknown kind
                           {0, right, 1000, 0}})
    CHECK(complaint_about(head).find("a chunk other than the one requested") != std::string::npos);
  CHECK(complaint_about({0, right, 0, 5}).find("confirmed a chunk that differs") != std::string::npos);
}

TEST(a_receiver_that_requests_a_nonexistent_chunk_is_named) {
  const auto ask = [](const std::vector<Chunk>& chunks, std::size_t flags) {
    Side source(ChunkMap::Owner::source);
    Pair pair;
    Writer writer;
    writer.add(chunks).add(std::vector<std::uint8_t>(flags)).add(std::vector<std::uint64_t>(flags));
    send_frame(pair.b.get(), FrameType::ready, writer.bytes(), after_seconds(10));
    try {
      send_chunks(source.store, connection(pair.a), {});
    } catch (const RunError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const auto& chunks : {std::vector<Chunk>{-1}, {11}, {1, 1}, {2, 1}, {Chunk{1} << 62}})
    CHECK(ask(chunks, chunks.size()).find("chunks that do not exist") != std::string::npos);
  CHECK(ask({1, 2}, 1).find("chunks that do not exist") != std::string::npos);
}

TEST(wrong_bytes_from_a_disk_are_found_before_they_are_forwarded) {
  Side middle(ChunkMap::Owner::target), behind(ChunkMap::Owner::target);
  for (Chunk chunk = 0; chunk < middle.map.chunks(); ++chunk)
    middle.map.hold(chunk, 42, ChunkMap::Origin::received);  // a wrong checksum
  Pair pair;
  std::string why;
  std::thread sender([&] {
    try {
      send_chunks(middle.store, connection(pair.a), {});
    } catch (const std::exception& error) {
      why = error.what();
    }
    ::shutdown(pair.a.get(), SHUT_RDWR);
  });
  bool lost = false;
  try {
    receive_chunks(behind.store, connection(pair.b));
  } catch (const ConnectionLost&) {
    lost = true;
  }
  sender.join();
  CHECK(lost);
  CHECK(why.find("since it was last read or written") != std::string::npos);
  CHECK_EQ(behind.map.counts().received_bytes, 0);
}
