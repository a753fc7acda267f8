#include "clone/device.hpp"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <utility>
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

// Returns what a disk says of itself, without surrounding blanks, as printable ASCII.
std::string printable(const std::string& text) {
  std::string plain;
  for (const char letter : text.substr(0, 200)) plain += letter >= ' ' && letter <= '~' ? letter : '?';
  const auto first = plain.find_first_not_of(' ');
  return first == std::string::npos ? "" : plain.substr(first, plain.find_last_not_of(' ') - first + 1);
}

std::string first_there(const fs::path& folder, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const std::string line = printable(first_line(folder / name)); !line.empty()) return line;
  return {};
}

// The serial number of a SCSI or SATA disk: vital product data, page 0x80 (SPC-4, section 7.8.15), whose
// header has four bytes.
std::string vital_serial(const fs::path& folder) {
  std::ifstream page(folder / "device/vpd_pg80", std::ios::binary);
  std::string bytes(260, '\0');
  page.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(page.gcount()));
  return bytes.size() > 4 ? printable(bytes.substr(4)) : "";
}

// Returns udev's link to a device by what it is. Of several, the one that names a model rather than a number.
std::string link_by_id(const fs::path& links, const std::string& name) {
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(links, error))
    if (fs::read_symlink(entry.path(), error).filename() == name) found.push_back(entry.path().string());
  const auto is_number = [](const std::string& link) {
    const std::string last = fs::path(link).filename();
    return last.starts_with("wwn-") || last.starts_with("nvme-eui.") || last.starts_with("scsi-3");
  };
  std::ranges::sort(found, {}, [&](const std::string& link) { return std::pair(is_number(link), link); });
  return found.empty() ? "" : printable(found.front());
}

}  // namespace

Device describe_device(dev_t device, const fs::path& numbers, const fs::path& links) {
  std::error_code error;
  const fs::path folder = fs::canonical(numbers / number_of(device), error);
  const std::string number = error ? number_of(device) : folder.filename().string();
  Device found{"name " + number, number, number_of(device), true};
  if (error) return found;
  const std::string partition = printable(first_line(folder / "partition"));
  const fs::path disk = partition.empty() ? folder : folder.parent_path();
  found.is_whole = partition.empty();
  if (!found.is_whole) found.disk = first_line(disk / "dev");
  const std::string wwid = first_there(disk, {"wwid", "device/wwid"});
  std::string serial = first_there(disk, {"serial", "device/serial"});
  if (serial.empty()) serial = vital_serial(disk);
  if (!wwid.empty() || !serial.empty())
    found.id = (wwid.empty() ? "serial " + serial : wwid) + (found.is_whole ? "" : " partition " + partition);
  const std::string model = first_there(disk, {"device/model", "loop/backing_file"});
  found.words =
      (found.is_whole ? "" : "partition " + partition + " of ") + (model.empty() ? "a disk" : model);
  if (!serial.empty()) found.words += ", serial " + serial;
  if (const std::string link = link_by_id(links, number); !link.empty()) found.words += ", " + link;
  return found;
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

}  // namespace crosscut::clone
