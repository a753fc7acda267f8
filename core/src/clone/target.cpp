#include "clone/target.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "base/error.hpp"
#include "base/file.hpp"
#include "clone/device.hpp"

namespace crosscut::clone {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view unfinished_suffix = ".crosscut-clone";

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UsageError("target " + path + ": " + why);
}

// Returns the status of the file that `path` leads to, or nullopt if there is none. Makes `path` absolute and
// free of symbolic links. Throws UsageError if no file can be created there.
std::optional<struct stat> look(std::string& path) {
  struct stat status {};
  std::error_code error;
  if (::stat(path.c_str(), &status) == 0) {
    path = fs::canonical(path, error).string();
    if (error) refuse(path, error.message());
    return status;
  }
  if (errno != ENOENT) refuse(path, std::strerror(errno));
  if (::lstat(path.c_str(), &status) == 0) refuse(path, "a symbolic link that leads nowhere; remove it");
  const fs::path whole(path);
  if (!whole.has_filename()) refuse(path, "a directory that does not exist; name a file");
  const fs::path folder = fs::canonical(whole.has_parent_path() ? whole.parent_path() : ".", error);
  if (error) refuse(path, "the directory that it would be in: " + error.message());
  path = (folder / whole.filename()).string();
  return std::nullopt;
}

int rename_to_free_name(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  // For file systems without the flag (NFS): a hard link never replaces a file either.
  return ::link(from.c_str(), to.c_str()) == 0 ? ::unlink(from.c_str()) : -1;
}

}  // namespace

std::string expand_path(const std::string& pattern, std::int32_t rank, const std::string& host) {
  std::string path;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::string_view rest = std::string_view(pattern).substr(at);
    if (rest.starts_with("{rank}")) {
      path += std::to_string(rank);
      at += 6;
    } else if (rest.starts_with("{host}")) {
      path += host;
      at += 6;
    } else if (rest.front() == '{' || rest.front() == '}') {
      refuse(pattern, "only {rank} and {host} may appear in braces");
    } else {
      path += pattern[at++];
    }
  }
  if (path.empty() || path.find('\0') != std::string::npos) refuse(pattern, "this is not a valid path");
  return path;
}

Target::Target(const CloneJob& job, std::string path)
    : path_(std::move(path)), permissions_(static_cast<mode_t>(job.permissions)), overwrite_(job.overwrite) {
  const std::optional<struct stat> status = look(path_);
  if (status) place_identity_ = identity_of(*status);
  if (status && S_ISDIR(status->st_mode)) refuse(path_, "a directory; name the file in it");
  if (status && S_ISBLK(status->st_mode)) {
    open_device(job, *status);
  } else if (status && !S_ISREG(status->st_mode)) {
    refuse(path_, "neither a regular file nor a block device");
  } else {
    open_file(job, status.has_value());
  }
}

// The conductor has people confirm what device it is before anything is written.
void Target::open_device(const CloneJob& job, const struct stat& looked_at) {
  is_in_place_ = true;
  const std::string use = device_use(looked_at.st_rdev);
  if (!use.empty()) refuse(path_, "the device is in use: " + use + "; nothing was written");
  Fd fd(::open(path_.c_str(), O_RDWR | O_EXCL | O_CLOEXEC));
  if (!fd && errno == EBUSY)
    refuse(
        path_,
        "the kernel reports the device as in use (mounted, swap, or part of another); nothing was written");
  if (!fd) refuse(path_, std::strerror(errno));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw_errno("examine " + path_);
  if (!S_ISBLK(status.st_mode) || status.st_rdev != looked_at.st_rdev)
    refuse(path_, "the name was given to another device meanwhile; nothing was written");
  int is_read_only = 0;
  if (::ioctl(fd.get(), BLKROGET, &is_read_only) == 0 && is_read_only != 0)
    refuse(path_, "the device is read-only");
  const std::int64_t room = device_bytes(fd.get(), path_);
  if (room < job.bytes)
    refuse(path_,
           "the device has " + std::to_string(room) + " bytes, the source " + std::to_string(job.bytes));
  device_ = describe_device(status.st_rdev);
  device_->words += ", " + std::to_string(room) + " bytes";
  image_.emplace(std::move(fd), path_, job.bytes);
  if (job.resume) resumable_bytes_ = job.bytes;
}

void Target::open_file(const CloneJob& job, bool exists) {
  const std::string name = path_ + std::string(unfinished_suffix);
  if (exists && job.resume && open_whole(job, name)) return;
  if (exists && !job.overwrite) refuse(path_, "the file exists; add --yes to replace it");
  Fd fd(::open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!fd) refuse(path_, "cannot write " + name + ": " + std::strerror(errno));
  take_unfinished(job, name, std::move(fd));
}

// Opens a file in its final place, to verify it as an earlier copy. Returns false if there is an unfinished
// copy, or if the file has another size.
bool Target::open_whole(const CloneJob& job, const std::string& unfinished) {
  struct stat status {};
  if (::lstat(unfinished.c_str(), &status) == 0) return false;
  Fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size != job.bytes)
    return false;
  is_in_place_ = true;
  image_.emplace(std::move(fd), path_, job.bytes);
  image_->forbid_writing("target " + path_ +
                         " exists and is no copy of the source; --yes without --resume replaces it");
  resumable_bytes_ = job.bytes;
  return true;
}

void Target::take_unfinished(const CloneJob& job, const std::string& name, Fd fd) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw_errno("examine " + name);
  // Another owner could write to the file unnoticed, and a second hard link would expose it elsewhere.
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || status.st_nlink != 1)
    refuse(path_, name + " is in the way and was not made by crosscut for this user; remove it");
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    refuse(path_,
           name +
               " is being written by another copy; ranks that share a file system need {rank} or {host} "
               "in the name");
  struct stat named {};
  if (::stat(name.c_str(), &named) != 0 || named.st_ino != status.st_ino || named.st_dev != status.st_dev)
    refuse(path_, "another copy to this target has just ended; check its result, then try again");
  // A rank that did not create the file may hold its lock: several race for it.
  is_new_ = named.st_size == 0;
  image_.emplace(std::move(fd), name, job.bytes);
  try {
    check_space(job, status);
  } catch (...) {
    if (is_new_) ::unlink(name.c_str());
    throw;
  }
  if (job.resume) resumable_bytes_ = std::min<std::int64_t>(status.st_size, job.bytes);
}

const Image& Target::image() const {
  if (!image_) throw std::logic_error("the target " + path_ + " was not opened");
  return *image_;
}

void Target::check_space(const CloneJob& job, const struct stat& status) const {
  struct statvfs space {};
  if (::fstatvfs(image().fd(), &space) != 0) return;  // writing will report it
  const auto unit = static_cast<std::int64_t>(space.f_frsize);
  const std::int64_t free_bytes =
      static_cast<std::int64_t>(space.f_bavail) * unit + std::int64_t{status.st_blocks} * 512;
  if (free_bytes < job.bytes)
    refuse(path_, "there are " + std::to_string(free_bytes) + " bytes free, but " +
                      std::to_string(job.bytes) + " are needed");
}

// Removes a file that was created but never written to.
Target::~Target() {
  if (image_ && !is_in_place_ && is_new_ && !has_begun_) ::unlink(image_->path().c_str());
}

void Target::begin() {
  has_begun_ = true;
  if (is_in_place_) return;
  if (resumable_bytes_ == 0 && ::ftruncate(image().fd(), 0) != 0) throw_errno("empty " + image().path());
  if (::ftruncate(image().fd(), image().bytes()) != 0) throw_errno("give " + image().path() + " its length");
}

void Target::commit() {
  if (is_in_place_) return;
  if (::fchmod(image().fd(), permissions_) != 0) throw_errno("set permissions of " + image().path());
  const std::string& from = image().path();
  const int done = overwrite_ ? ::rename(from.c_str(), path_.c_str()) : rename_to_free_name(from, path_);
  if (done != 0 && errno == EEXIST)
    throw RunError("target " + path_ + " was created meanwhile by another program; the complete copy is in " +
                   from);
  if (done != 0) throw_errno("rename " + from + " to " + path_);
  sync_directory(fs::path(path_).parent_path());
}

std::string Target::identity() const { return identity_of(status_of(image())); }

}  // namespace crosscut::clone
