// Files of a run on disk. Positioned reads and writes transfer every byte or throw RunError naming the file
// and the cause.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/fd.hpp"

namespace crosscut {

// Throws RunError: "cannot write a/b: No space left on device", and what to do about it.
[[noreturn]] void throw_file_error(std::string_view doing, const std::filesystem::path& path, int error);

class File {
 public:
  enum class Mode {
    read = O_RDONLY,
    update = O_RDWR,
    create = O_RDWR | O_CREAT | O_TRUNC,
    directory = O_RDONLY | O_DIRECTORY,
  };

  File(std::filesystem::path path, Mode mode);

  void write_at(std::span<const std::byte> bytes, std::int64_t offset);
  // Throws RunError if the file ends early.
  void read_at(std::span<std::byte> bytes, std::int64_t offset) const;
  std::int64_t size() const;
  // Syncs to disk: a file's bytes and length, or a directory's entries.
  void sync();
  // Returns false if another process holds the lock; also true on file systems without locks.
  bool lock();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Fd fd_;  // closed without checking for errors: data that must survive was synced before
};

void sync_directory(const std::filesystem::path& directory);
// Creates the missing directories of `path`; each entry is on disk on return.
void make_directories(const std::filesystem::path& path);
// Replaces the file atomically: a reader finds the old bytes or the new ones, even after a crash. A process
// killed meanwhile leaves `path`.unfinished behind.
void replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
void replace_file(const std::filesystem::path& path, const std::function<void(File&)>& write);
// Reads a whole file. Throws RunError if it is longer than `most_bytes`.
std::string read_file(const std::filesystem::path& path, std::int64_t most_bytes);
// Returns the first line of a small kernel file; empty if unreadable, as is the speed of a virtual link.
std::string first_line(const std::filesystem::path& path);

}  // namespace crosscut
