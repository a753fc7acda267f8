// What two neighbours of the chain say to each other on one rail.
//
// The receiver says which chunks it still needs and the checksum of what lies in their places; for each, in
// that order and as soon as it has it, the sender answers with the bytes or that they are right already. Then
// the receiver asks again for what came damaged. An empty list ends it. So beginning, resuming, and going on
// with another predecessor are one and the same.
#pragma once

#include <atomic>
#include <functional>
#include <stop_token>

#include "clone/chunk_map.hpp"
#include "clone/image.hpp"

namespace crosscut::clone {

struct ChunkStore {
  ChunkMap& map;
  const Image& image;
  std::function<void()> moved;  // called by several threads after every chunk
};

struct RailConnection {
  int fd = -1;
  std::int32_t rail = 0, rails = 1;
  double patience_seconds = 120;  // with 64 KiB of a chunk under way
};

// Each returns when the receiver has all chunks of the rail. Throws ConnectionLost (also where another thread
// shut the connection down), and RunError where the other end breaks the rules or a disk does not do.
void send_chunks(const ChunkStore& store, const RailConnection& connection, const std::stop_token& stop);
void receive_chunks(const ChunkStore& store, const RailConnection& connection);

// Of one chunk, as it lies there now.
std::uint64_t read_chunk(const ChunkStore& store, Chunk chunk, std::span<std::byte> buffer);

}  // namespace crosscut::clone
