#include "base/file.hpp"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace crosscut {
namespace {

namespace fs = std::filesystem;

std::string_view advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; earlier measurements are safe: free some space, then continue with --resume";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; choose a writable directory with --out";
    case ENOTDIR:
    case EEXIST:
      return "; a file is in the way: remove it, or choose another directory with --out";
    case EMFILE:
    case ENFILE:
      return "; raise the limit on open files (ulimit -n)";
    case EIO:
      return "; the disk or the file server failed: earlier measurements may still be readable";
    default:
      return "";
  }
}

}  // namespace

void throw_file_error(std::string_view doing, const fs::path& path, int error) {
  throw RunError("cannot " + std::string(doing) + " " + path.string() + ": " + std::strerror(error) +
                 std::string(advice(error)));
}

File::File(fs::path path, Mode mode) : path_(std::move(path)) {
  constexpr mode_t permissions = 0666;  // minus the umask, as for every new file
  do {
    fd_.reset(::open(path_.c_str(), static_cast<int>(mode) | O_CLOEXEC, permissions));
  } while (!fd_ && errno == EINTR);
  if (!fd_) throw_file_error(mode == Mode::create ? "create" : "open", path_, errno);
}

void File::write_at(std::span<const std::byte> bytes, std::int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw_file_error("write", path_, written < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += written;
  }
}

void File::read_at(std::span<std::byte> bytes, std::int64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(fd_.get(), bytes.data(), bytes.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_file_error("read", path_, errno);
    if (got == 0)
      throw RunError(path_.string() + " ends at byte " + std::to_string(offset) +
                     ", in the middle of its data: it is truncated; run `crosscut fsck`");
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

std::int64_t File::size() const {
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) throw_file_error("examine", path_, errno);
  return status.st_size;
}

void File::sync() {
  if (::fdatasync(fd_.get()) == 0) return;
  // Some file systems cannot sync a directory and need not: they return EINVAL.
  if (errno != EINVAL) throw_file_error("write", path_, errno);
}

bool File::lock() { return ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

void sync_directory(const fs::path& directory) { File(directory, File::Mode::directory).sync(); }

void make_directories(const fs::path& path) {
  if (path.empty() || ::access(path.c_str(), F_OK) == 0) return;
  const fs::path parent = path.parent_path();
  make_directories(parent);
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) throw_file_error("create", path, errno);
  sync_directory(parent.empty() ? "." : parent);
}

void replace_file(const fs::path& path, std::span<const std::byte> bytes) {
  replace_file(path, [bytes](File& file) { file.write_at(bytes, 0); });
}

void replace_file(const fs::path& path, const std::function<void(File&)>& write) {
  const fs::path temporary = path.string() + ".unfinished";
  try {
    File file(temporary, File::Mode::create);
    write(file);
    file.sync();
    if (::rename(temporary.c_str(), path.c_str()) != 0) throw_file_error("replace", path, errno);
  } catch (const RunError&) {
    ::unlink(temporary.c_str());
    throw;
  }
  const fs::path parent = path.parent_path();
  sync_directory(parent.empty() ? "." : parent);
}

std::string read_file(const fs::path& path, std::int64_t most_bytes) {
  const File file(path, File::Mode::read);
  const std::int64_t size = file.size();
  if (size > most_bytes)
    throw RunError(path.string() + " has " + std::to_string(size) + " bytes; at most " +
                   std::to_string(most_bytes) + " are allowed");
  std::string text(static_cast<std::size_t>(size), '\0');
  file.read_at(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace crosscut
