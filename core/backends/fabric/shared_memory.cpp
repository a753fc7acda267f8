#include "backends/fabric/shared_memory.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string>

namespace crosscut::backends::fabric {
namespace {

namespace files = std::filesystem;

// Returns the process in the provider's name of an endpoint's memory, "PID:DOMAIN:ENDPOINT" with numbers
// alone; 0 if it is another name.
pid_t process_in(const std::string& name) {
  pid_t process = 0;
  const char *at = name.data(), *const end = at + name.size();
  for (int part = 0; part < 3; ++part) {
    pid_t number = 0;
    const auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc{} || number < 0) return 0;
    if (part == 0) process = number;
    at = read.ptr;
    if (part < 2 && (at == end || *at++ != ':')) return 0;
  }
  return at == end ? process : 0;
}

bool is_gone(pid_t process) { return ::kill(process, 0) != 0 && errno == ESRCH; }

bool is_ours(const files::path& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == ::geteuid();
}

}  // namespace

void remove_left_behind(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : files::directory_iterator(folder, error)) {
    const auto process = process_in(entry.path().filename().string());
    if (process > 0 && is_gone(process) && is_ours(entry.path())) ::unlink(entry.path().c_str());
  }
}

}  // namespace crosscut::backends::fabric
