#include "clone/image.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "clone/device.hpp"

namespace crosscut::clone {
namespace {

constexpr mode_t permissions_of_new_files = 0644;

[[noreturn]] void fail(std::string_view doing, const std::string& path, std::int64_t offset, int error) {
  throw RunError(std::string(doing) + " " + path + " at byte " + std::to_string(offset) + ": " +
                 (error == 0 ? "it ends there" : std::strerror(error)));
}

}  // namespace

void Image::read_at(std::span<std::byte> to, std::int64_t offset) const {
  while (!to.empty()) {
    const ssize_t got = ::pread(fd_.get(), to.data(), to.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("reading", path_, offset, got < 0 ? errno : 0);
    to = to.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

void Image::write_at(std::span<const std::byte> from, std::int64_t offset) const {
  if (!not_written_.empty()) throw RunError(not_written_);
  while (!from.empty()) {
    const ssize_t written = ::pwrite(fd_.get(), from.data(), from.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("writing", path_, offset, written < 0 ? errno : 0);
    from = from.subspan(static_cast<std::size_t>(written));
    offset += written;
  }
}

void Image::sync() const {
  if (::fdatasync(fd_.get()) != 0) throw_errno("write " + path_ + " to its disk");
}

void Image::begin_writing_back(std::int64_t offset, std::int64_t bytes) const {
  // Not all file systems support this; then the kernel decides when to write.
  ::sync_file_range(fd_.get(), offset, bytes, SYNC_FILE_RANGE_WRITE);
}

struct stat status_of(const Image& image) {
  struct stat status {};
  if (::fstat(image.fd(), &status) != 0) throw_errno("examine " + image.path());
  return status;
}

std::string identity_of(const struct stat& status) {
  return S_ISBLK(status.st_mode) ? "device " + std::to_string(status.st_rdev)
                                 : std::to_string(status.st_dev) + " " + std::to_string(status.st_ino);
}

Source open_source(const std::string& path) {
  // Non-blocking: a FIFO without a writer would hang this rank.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) throw UsageError("source " + path + ": " + std::strerror(errno));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw_errno("examine " + path);
  if (S_ISBLK(status.st_mode)) {
    const std::int64_t bytes = device_bytes(fd.get(), path);
    std::string warning;
    if (const std::string use = device_use(status.st_rdev); !use.empty())
      warning = "source " + path + " is in use (" + use + "): the copy may mix old and new content";
    return {Image(std::move(fd), path, bytes), permissions_of_new_files, std::move(warning)};
  }
  if (!S_ISREG(status.st_mode))
    throw UsageError("source " + path + " is " +
                     (S_ISDIR(status.st_mode) ? "a directory" : "not a regular file") +
                     "; copy a file or a block device (tar packs a directory into a file)");
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return {Image(std::move(fd), path, status.st_size), status.st_mode & 0777, {}};
}

bool is_unchanged(const Source& source, const struct stat& then) {
  const struct stat now = status_of(source.image);
  return now.st_size == then.st_size && now.st_mtim.tv_sec == then.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == then.st_mtim.tv_nsec;
}

}  // namespace crosscut::clone
