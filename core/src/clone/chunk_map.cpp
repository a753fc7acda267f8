#include "clone/chunk_map.hpp"

#include <algorithm>

namespace crosscut::clone {

ChunkMap::ChunkMap(std::int64_t bytes, std::int64_t chunk_bytes, Owner owner)
    : bytes_(bytes),
      chunk_bytes_(chunk_bytes),
      entries_(static_cast<std::size_t>((bytes + chunk_bytes - 1) / chunk_bytes)) {
  for (Entry& entry : entries_) entry.is_held = owner == Owner::source;
}

std::int64_t ChunkMap::size(Chunk chunk) const { return std::min(chunk_bytes_, bytes_ - offset(chunk)); }

void ChunkMap::suggest(Chunk chunk, std::uint64_t checksum) {
  const std::lock_guard lock(mutex_);
  entries_[static_cast<std::size_t>(chunk)] = {checksum, true, false};
}

void ChunkMap::hold(Chunk chunk, std::uint64_t checksum, Origin origin) {
  {
    const std::lock_guard lock(mutex_);
    entries_[static_cast<std::size_t>(chunk)] = {checksum, true, true};
    (origin == Origin::received ? counts_.received_bytes : counts_.kept_bytes) += size(chunk);
  }
  changed_.notify_all();
}

void ChunkMap::note(Chunk chunk, std::uint64_t checksum) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[static_cast<std::size_t>(chunk)];
  entry.checksum = checksum;
  entry.is_read = true;
}

bool ChunkMap::await(Chunk chunk, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  return changed_.wait(lock, stop, [&] { return entries_[static_cast<std::size_t>(chunk)].is_held; });
}

std::optional<std::uint64_t> ChunkMap::checksum(Chunk chunk) const {
  const std::lock_guard lock(mutex_);
  const Entry& entry = entries_[static_cast<std::size_t>(chunk)];
  return entry.is_read ? std::optional(entry.checksum) : std::nullopt;
}

std::vector<Chunk> ChunkMap::missing(std::int32_t rail, std::int32_t rails) const {
  const std::lock_guard lock(mutex_);
  std::vector<Chunk> found;
  for (Chunk chunk = rail; chunk < chunks(); chunk += rails)
    if (!entries_[static_cast<std::size_t>(chunk)].is_held) found.push_back(chunk);
  return found;
}

ChunkMap::Counts ChunkMap::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace crosscut::clone
