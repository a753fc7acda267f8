// Block devices: which disk one is, and what uses it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace crosscut::clone {

struct Device {
  // Stays the same when the kernel names disks in another order: the disk's WWN or serial number, and the
  // number of the partition. The kernel's name, if the disk has neither.
  std::string id;
  std::string words;     // what people recognise it by; printable ASCII
  std::string disk;      // number of the whole disk, such as "8:0"
  bool is_whole = true;  // false: a partition
};

// Describes a device from the folders in which the kernel and udev do. Unknown properties are left out.
Device describe_device(dev_t device, const std::filesystem::path& numbers = "/sys/dev/block",
                       const std::filesystem::path& links = "/dev/disk/by-id");

// Returns the size of a block device. Throws RunError.
std::int64_t device_bytes(int fd, const std::string& path);

// Explains to people why a block device must not be written: "mounted on /data", "its partition sdb1 is
// swap", "part of dm-0"; empty if no use is known. The kernel itself decides: O_EXCL fails on a device that
// is mounted, swapped to or held by another device.
std::string device_use(dev_t device);

}  // namespace crosscut::clone
