#include "backends/fabric/shared_memory.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
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

// True of one that was killed but that its parent has not waited for yet, too: it maps nothing any more.
bool is_gone(pid_t process) {
  if (::kill(process, 0) != 0) return errno == ESRCH;
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto name_end = text.rfind(") ");  // the name before it may contain anything
  return name_end != std::string::npos && (text[name_end + 2] == 'Z' || text[name_end + 2] == 'X');
}

bool is_ours(const files::path& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == ::geteuid();
}

}  // namespace

void remove_left_behind(const std::string& folder) {
  std::error_code error;
  for (files::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const auto process = process_in(at->path().filename().string());
    if (process > 0 && is_gone(process) && is_ours(at->path())) ::unlink(at->path().c_str());
  }
}

}  // namespace crosscut::backends::fabric
