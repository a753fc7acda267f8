// An image: the bytes of an open file or block device, as the source or target of a copy.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/fd.hpp"

namespace crosscut::clone {

class Image {
 public:
  Image(Fd fd, std::string path, std::int64_t bytes)
      : fd_(std::move(fd)), path_(std::move(path)), bytes_(bytes) {}

  // Both transfer the whole span or throw RunError naming path, offset and cause.
  void read_at(std::span<std::byte> to, std::int64_t offset) const;
  void write_at(std::span<const std::byte> from, std::int64_t offset) const;
  // Makes write_at() throw RunError with this reason from now on.
  void forbid_writing(std::string why) { not_written_ = std::move(why); }
  // Returns when everything written is on disk. Throws RunError.
  void sync() const;
  // Starts writing a range back now. Otherwise all ranks would wait at the end for the disk.
  void begin_writing_back(std::int64_t offset, std::int64_t bytes) const;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  Fd fd_;
  std::string path_;
  std::int64_t bytes_;
  std::string not_written_;  // the reason; empty: writing is allowed
};

// Opens the source, a regular file or a readable block device. Throws UsageError.
struct Source {
  Image image;
  mode_t permissions;   // of the file; for a device, those of a new file
  std::string warning;  // empty: none
};
Source open_source(const std::string& path);
// Returns false if the source file was modified since `then`. Cannot detect writes to a device.
bool is_unchanged(const Source& source, const struct stat& then);

struct stat status_of(const Image& image);
// Returns what identifies a file or device within its machine.
std::string identity_of(const struct stat& status);

}  // namespace crosscut::clone
