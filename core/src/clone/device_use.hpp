// Explains to people why a block device must not be written. The decision itself is the kernel's: O_EXCL
// fails on a device that is mounted, swapped to or held by another one.
#pragma once

#include <sys/types.h>

#include <string>

namespace crosscut::clone {

// Returns "mounted on /data", "its partition sdb1 is swap", "dm-0 is built on it"; empty: no use is known.
std::string device_use(dev_t device);

}  // namespace crosscut::clone
