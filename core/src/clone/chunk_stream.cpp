#include "clone/chunk_stream.hpp"

#include <algorithm>
#include <array>

#include "base/xxh64.hpp"
#include "session/socket.hpp"
#include "session/wire.hpp"

namespace crosscut::clone {
namespace {

// Rounds in which a receiver asks for missing chunks; a chunk damaged in every round is no accident.
constexpr int most_rounds = 4;
constexpr double for_ever = 1e9;
constexpr std::size_t piece_bytes = 64 << 10;

struct Needed {
  std::vector<Chunk> chunks;
  std::vector<std::uint8_t> is_read;     // 1: the checksum is known
  std::vector<std::uint64_t> checksums;  // of the present content
};

enum class Kind : std::uint64_t { bytes = 1, right_already };
using Head = std::array<std::uint64_t, 4>;  // chunk, kind, bytes that follow, checksum

// Asks the previous rank for the missing chunks, and returns them.
std::vector<Chunk> ask_for_missing(const ChunkStore& store, const RailConnection& connection) {
  Needed list{.chunks = store.map.missing(connection.rail, connection.rails), .is_read = {}, .checksums = {}};
  for (const Chunk chunk : list.chunks) {
    const auto checksum = store.map.checksum(chunk);
    list.is_read.push_back(checksum ? 1 : 0);
    list.checksums.push_back(checksum.value_or(0));
  }
  session::Writer writer;
  writer.add(list.chunks).add(list.is_read).add(list.checksums);
  session::send_frame(connection.fd, session::FrameType::ready, writer.bytes(),
                      after_seconds(connection.patience_seconds));
  return list.chunks;
}

Needed receive_needed(const ChunkStore& store, const RailConnection& connection) {
  const session::Frame frame = session::receive_frame(connection.fd, after_seconds(for_ever));
  session::Reader reader(frame.payload);
  Needed list;
  reader.get(list.chunks);
  reader.get(list.is_read);
  reader.get(list.checksums);
  const bool belong = std::ranges::all_of(list.chunks, [&](Chunk chunk) {
    return chunk >= 0 && chunk < store.map.chunks() && chunk % connection.rails == connection.rail;
  });
  const bool ascend = std::ranges::adjacent_find(list.chunks, std::greater_equal{}) == list.chunks.end();
  if (!belong || !ascend || list.is_read.size() != list.chunks.size() ||
      list.checksums.size() != list.chunks.size() || !reader.at_end())
    throw RunError(
        "the next rank in the chain requested chunks that do not exist; do all nodes run the same crosscut?");
  return list;
}

// Sets a deadline for each piece rather than for the chunk: a slow network is not a dead one.
void send_bytes(const RailConnection& connection, std::span<const std::byte> bytes) {
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), piece_bytes)))
    session::send_all(connection.fd, bytes.first(std::min(bytes.size(), piece_bytes)),
                      after_seconds(connection.patience_seconds));
}

void receive_bytes(const RailConnection& connection, std::span<std::byte> bytes) {
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), piece_bytes)))
    session::receive_all(connection.fd, bytes.first(std::min(bytes.size(), piece_bytes)),
                         after_seconds(connection.patience_seconds));
}

// Sends a chunk, or confirms that the receiver's content is right. `theirs` is the checksum of that content,
// or null if unknown. Throws RunError if this rank's own chunk has changed since it was read or written.
void send_chunk(const ChunkStore& store, const RailConnection& connection, Chunk chunk,
                const std::uint64_t* theirs, std::span<std::byte> buffer) {
  const std::optional<std::uint64_t> known = store.map.checksum(chunk);
  const auto bytes = buffer.first(static_cast<std::size_t>(store.map.size(chunk)));
  std::uint64_t mine = known.value_or(0);
  bool is_right = known && theirs != nullptr && mine == *theirs;
  if (!is_right) {
    mine = read_chunk(store, chunk, bytes);
    if (known && *known != mine)
      throw RunError(
          store.image.path() + " changed at byte " + std::to_string(store.map.offset(chunk)) +
          " since it was last read or written: another program wrote to it, or the disk or memory is faulty");
    if (!known) store.map.note(chunk, mine);
    is_right = theirs != nullptr && mine == *theirs;
  }
  const auto kind = static_cast<std::uint64_t>(is_right ? Kind::right_already : Kind::bytes);
  const Head head{static_cast<std::uint64_t>(chunk), kind, is_right ? 0 : bytes.size(), mine};
  send_bytes(connection, std::as_bytes(std::span(head)));
  if (!is_right) send_bytes(connection, bytes);
}

// Receives and writes one chunk. A chunk that arrives damaged stays missing.
void receive_chunk(const ChunkStore& store, const RailConnection& connection, Chunk chunk,
                   std::span<std::byte> buffer) {
  Head head;
  session::receive_all(connection.fd, std::as_writable_bytes(std::span(head)), after_seconds(for_ever));
  const auto size = static_cast<std::uint64_t>(store.map.size(chunk));
  const bool is_right = head[1] == static_cast<std::uint64_t>(Kind::right_already);
  const bool has_bytes = head[1] == static_cast<std::uint64_t>(Kind::bytes);
  if (head[0] != static_cast<std::uint64_t>(chunk) || head[2] != (has_bytes ? size : 0) ||
      is_right == has_bytes)
    throw RunError("the previous rank in the chain sent a chunk other than the one requested");
  if (is_right) {
    if (store.map.checksum(chunk) != head[3])
      throw RunError("the previous rank in the chain confirmed a chunk that differs");
    return store.map.hold(chunk, head[3], ChunkMap::Origin::kept);
  }
  const auto bytes = buffer.first(static_cast<std::size_t>(size));
  receive_bytes(connection, bytes);
  if (xxh64(bytes) != head[3]) return;
  const std::int64_t offset = store.map.offset(chunk);
  store.image.write_at(bytes, offset);
  store.image.begin_writing_back(offset, static_cast<std::int64_t>(size));
  store.map.hold(chunk, head[3], ChunkMap::Origin::received);
}

}  // namespace

Memory chunk_memory(const ChunkMap& map) {
  return Memory(map.chunks() == 0 ? 0 : static_cast<std::size_t>(map.size(0)));
}

std::uint64_t read_chunk(const ChunkStore& store, Chunk chunk, std::span<std::byte> buffer) {
  const auto bytes = buffer.first(static_cast<std::size_t>(store.map.size(chunk)));
  store.image.read_at(bytes, store.map.offset(chunk));
  return xxh64(bytes);
}

void send_chunks(const ChunkStore& store, const RailConnection& connection, const std::stop_token& stop) {
  const Memory memory = chunk_memory(store.map);
  while (true) {
    const Needed list = receive_needed(store, connection);
    if (list.chunks.empty()) return;
    for (std::size_t i = 0; i < list.chunks.size(); ++i) {
      if (!store.map.await(list.chunks[i], stop)) throw session::ConnectionLost("stopped");
      const std::uint64_t* theirs = list.is_read[i] != 0 ? &list.checksums[i] : nullptr;
      send_chunk(store, connection, list.chunks[i], theirs, memory.span());
      store.moved();
    }
  }
}

void receive_chunks(const ChunkStore& store, const RailConnection& connection) {
  const Memory memory = chunk_memory(store.map);
  for (int round = 0;; ++round) {
    const std::vector<Chunk> missing = ask_for_missing(store, connection);
    if (missing.empty()) return;
    if (round == most_rounds)
      throw session::ConnectionLost("bytes from " + std::to_string(store.map.offset(missing.front())) +
                                    " on arrived damaged " + std::to_string(most_rounds) + " times on rail " +
                                    std::to_string(connection.rail));
    for (const Chunk chunk : missing) {
      receive_chunk(store, connection, chunk, memory.span());
      store.moved();
    }
  }
}

}  // namespace crosscut::clone
