#include "clone/device_use.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace crosscut::clone {
namespace {

namespace fs = std::filesystem;

struct Part {
  std::string name;    // "sdb1"
  std::string number;  // "8:17", as the kernel's files have it
  fs::path folder;     // of sysfs
};

std::string number_of(dev_t device) {
  return std::to_string(major(device)) + ":" + std::to_string(minor(device));
}

std::string first_line(const fs::path& file) {
  std::string line;
  std::ifstream stream(file);
  std::getline(stream, line);
  return line;
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

// Decodes spaces and the like, which are \040 in the kernel's tables.
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

}  // namespace

std::string device_use(dev_t device) {
  const std::vector<Part> parts = parts_of(device);
  for (const Part& part : parts)
    if (const std::string use = use_of(part); !use.empty())
      return &part == parts.data() ? use : "its partition " + part.name + " is " + use;
  return {};
}

}  // namespace crosscut::clone
