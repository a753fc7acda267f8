// Records which chunks of an image a rank has, and their checksums. The threads that receive, send and read
// share it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

namespace crosscut::clone {

using Chunk = std::int64_t;

class ChunkMap {
 public:
  enum class Owner : std::uint8_t {
    source,
    target
  };  // a source has all chunks; checksums follow as they are read
  ChunkMap(std::int64_t bytes, std::int64_t chunk_bytes, Owner owner);

  Chunk chunks() const { return static_cast<Chunk>(entries_.size()); }
  std::int64_t offset(Chunk chunk) const { return chunk * chunk_bytes_; }
  std::int64_t size(Chunk chunk) const;  // the last may be smaller

  // Records the checksum of a target's present content. Only the rank before this one knows if it is right.
  void suggest(Chunk chunk, std::uint64_t checksum);
  // Records that a chunk is right: it was received, or its old content is kept.
  enum class Origin : std::uint8_t { received, kept };
  void hold(Chunk chunk, std::uint64_t checksum, Origin origin);
  // Records the checksum of a chunk of the source, once it has been read.
  void note(Chunk chunk, std::uint64_t checksum);

  // Waits until this rank has the chunk; returns false if asked to stop.
  bool await(Chunk chunk, const std::stop_token& stop);
  std::optional<std::uint64_t> checksum(Chunk chunk) const;  // of the present content, right or not
  // Returns the missing chunks with chunk % rails == rail, in order.
  std::vector<Chunk> missing(std::int32_t rail, std::int32_t rails) const;

  struct Counts {
    std::int64_t received_bytes = 0, kept_bytes = 0;
  };
  Counts counts() const;

 private:
  struct Entry {
    std::uint64_t checksum = 0;
    bool is_read = false, is_held = false;
  };
  std::int64_t bytes_, chunk_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Entry> entries_;
  Counts counts_;
};

}  // namespace crosscut::clone
