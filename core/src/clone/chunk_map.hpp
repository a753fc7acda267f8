// Records the chunks of an image that a rank has, and their checksums. Shared by the threads that receive,
// send and read.
#pragma once

#include <algorithm>
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
  // A source has all chunks; their checksums follow as they are read.
  enum class Owner : std::uint8_t { source, target };
  ChunkMap(std::int64_t bytes, std::int64_t chunk_bytes, Owner owner)
      : bytes_(bytes),
        chunk_bytes_(chunk_bytes),
        entries_(static_cast<std::size_t>((bytes + chunk_bytes - 1) / chunk_bytes)) {
    for (Entry& entry : entries_) entry.is_held = owner == Owner::source;
  }

  Chunk chunks() const { return static_cast<Chunk>(entries_.size()); }
  std::int64_t offset(Chunk chunk) const { return chunk * chunk_bytes_; }
  // Returns a chunk's size in bytes; the last chunk may be smaller.
  std::int64_t size(Chunk chunk) const { return std::min(chunk_bytes_, bytes_ - offset(chunk)); }

  // Records that a chunk is right, either received or kept from the old content.
  enum class Origin : std::uint8_t { received, kept };
  void hold(Chunk chunk, std::uint64_t checksum, Origin origin) {
    {
      const std::lock_guard lock(mutex_);
      entries_[static_cast<std::size_t>(chunk)] = {checksum, true, true};
      (origin == Origin::received ? counts_.received_bytes : counts_.kept_bytes) += size(chunk);
    }
    changed_.notify_all();
  }
  // Records the checksum of a chunk's present content. Only the previous rank in the chain knows if it is
  // right.
  void note(Chunk chunk, std::uint64_t checksum) {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[static_cast<std::size_t>(chunk)];
    entry.checksum = checksum;
    entry.is_read = true;
  }

  // Waits until this rank has the chunk; returns false if asked to stop.
  bool await(Chunk chunk, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    return changed_.wait(lock, stop, [&] { return entries_[static_cast<std::size_t>(chunk)].is_held; });
  }
  // Returns the checksum of the chunk's present content, right or not; nullopt if not yet read.
  std::optional<std::uint64_t> checksum(Chunk chunk) const {
    const std::lock_guard lock(mutex_);
    const Entry& entry = entries_[static_cast<std::size_t>(chunk)];
    return entry.is_read ? std::optional(entry.checksum) : std::nullopt;
  }
  // Returns the missing chunks with chunk % rails == rail, in order.
  std::vector<Chunk> missing(std::int32_t rail, std::int32_t rails) const {
    const std::lock_guard lock(mutex_);
    std::vector<Chunk> found;
    for (Chunk chunk = rail; chunk < chunks(); chunk += rails)
      if (!entries_[static_cast<std::size_t>(chunk)].is_held) found.push_back(chunk);
    return found;
  }

  struct Counts {
    std::int64_t received_bytes = 0, kept_bytes = 0;
  };
  Counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

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
