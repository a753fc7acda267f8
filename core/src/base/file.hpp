// Files of a run on disk: positioned reads and writes that either do all of it or name file and cause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace crosscut {

// RunError: "cannot write a/b: No space left on device", and what to do about it.
[[noreturn]] void throw_file_error(std::string_view doing, const std::filesystem::path& path, int error);

class File {
 public:
  enum class Mode : std::uint8_t { read, update, create, directory };

  File(std::filesystem::path path, Mode mode);
  File(File&& other) noexcept;
  File& operator=(File&&) = delete;
  ~File();

  void write_at(std::span<const std::byte> bytes, std::int64_t offset);
  // Throws RunError when the file ends before.
  void read_at(std::span<std::byte> bytes, std::int64_t offset) const;
  std::int64_t size() const;
  // File: its bytes and its length are on disk. Directory: its entries are.
  void sync();
  // False: another process has it. True also where the file system knows no locks.
  bool lock();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

void sync_directory(const std::filesystem::path& directory);
// Makes what is missing of `path`, each entry on disk when it returns.
void make_directories(const std::filesystem::path& path);
// The whole file at once: whoever opens it, also after a crash, finds the old bytes or the new ones.
void replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
void replace_file(const std::filesystem::path& path, const std::function<void(File&)>& write);
// What replace_file leaves behind when the process is killed in it.
std::filesystem::path unfinished(const std::filesystem::path& path);
// Throws RunError when it is longer than `most_bytes`.
std::string read_file(const std::filesystem::path& path, std::int64_t most_bytes);

}  // namespace crosscut
