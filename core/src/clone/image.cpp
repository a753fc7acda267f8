#include "clone/image.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"

namespace crosscut::clone {
namespace {

namespace fs = std::filesystem;

struct Part {
  std::string name;    // "sdb1"
  std::string number;  // "8:17", as in the kernel's files
  fs::path folder;     // of sysfs
};

std::string number_of(dev_t device) {
  return std::to_string(major(device)) + ":" + std::to_string(minor(device));
}

// Returns the device itself, then its partitions.
std::vector<Part> parts_of(dev_t device) {
  std::error_code error;
  const fs::path folder = fs::canonical("/sys/dev/block/" + number_of(device), error);
  std::vector<Part> parts{{folder.filename(), number_of(device), folder}};
  if (error) return parts;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (fs::exists(entry.path() / "partition", error))
      parts.push_back({entry.path().filename(), first_line(entry.path() / "dev"), entry.path()});
  return parts;
}

// Decodes the octal escapes of the kernel's tables, such as \040 for a space.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size();
    plain += is_escape ? static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8)) : text[i];
    if (is_escape) i += 3;
  }
  return plain;
}

// proc_pid_mountinfo(5): ID, parent, major:minor, root, mount point.
std::string mounted_on(const std::string& number) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent, device, root, where;
    if (words >> id >> parent >> device >> root >> where && device == number) return unescaped(where);
  }
  return {};
}

bool is_swap(const std::string& number) {
  std::ifstream swaps("/proc/swaps");
  for (std::string line; std::getline(swaps, line);) {
    struct stat status {};
    const std::string path = unescaped(line.substr(0, line.find_first_of(" \t")));
    if (::stat(path.c_str(), &status) == 0 && S_ISBLK(status.st_mode) && number_of(status.st_rdev) == number)
      return true;
  }
  return false;
}

std::string holder(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / "holders", error))
    return entry.path().filename();
  return {};
}

std::string use_of(const Part& part) {
  if (const std::string where = mounted_on(part.number); !where.empty()) return "mounted on " + where;
  if (is_swap(part.number)) return "swap";
  if (const std::string name = holder(part.folder); !name.empty()) return "part of " + name;
  return {};
}

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

std::int64_t device_bytes(int fd, const std::string& path) {
  std::uint64_t bytes = 0;
  if (::ioctl(fd, BLKGETSIZE64, &bytes) != 0) throw_errno("read the size of " + path);
  return static_cast<std::int64_t>(bytes);
}

std::string device_use(dev_t device) {
  const std::vector<Part> parts = parts_of(device);
  for (const Part& part : parts)
    if (const std::string use = use_of(part); !use.empty())
      return &part == parts.data() ? use : "its partition " + part.name + " is " + use;
  return {};
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
