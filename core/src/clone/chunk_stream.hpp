// The exchange between two neighbours of the chain on one rail.
//
// The receiver lists the chunks that it still needs, each with the checksum of its present content. The
// sender answers chunk by chunk, in that order and as soon as it has the chunk: with the bytes, or by
// confirming that the content is right already. Then the receiver lists the chunks that arrived damaged. An
// empty list ends the exchange. Starting, resuming and changing the predecessor thus work alike.
#pragma once

#include <functional>
#include <stop_token>

#include "base/memory.hpp"
#include "clone/chunk_map.hpp"
#include "clone/image.hpp"

namespace crosscut::clone {

struct ChunkStore {
  ChunkMap& map;
  const Image& image;
  std::function<void()> moved;  // called after every chunk, from several threads
};

struct RailConnection {
  int fd = -1;
  std::int32_t rail = 0, rails = 1;
  double patience_seconds = 120;  // time limit for 64 KiB of a chunk
};

// Both return once the receiver has all chunks of the rail. They throw ConnectionLost (also if another thread
// shuts the connection down), or RunError if the other end violates the protocol or a disk fails.
void send_chunks(const ChunkStore& store, const RailConnection& connection, const std::stop_token& stop);
void receive_chunks(const ChunkStore& store, const RailConnection& connection);

// Returns memory for the largest chunk.
Memory chunk_memory(const ChunkMap& map);
// Reads one chunk into `buffer` and returns the checksum of its present content.
std::uint64_t read_chunk(const ChunkStore& store, Chunk chunk, std::span<std::byte> buffer);

}  // namespace crosscut::clone
