// Why a block device must not be written: for people. What decides is the kernel, which hands a device that
// is mounted, swapped to or held by another one to nobody who asks for it alone (O_EXCL).
#pragma once

#include <sys/types.h>

#include <string>

namespace crosscut::clone {

// "mounted on /data", "its partition sdb1 is swap", "dm-0 is built on it"; empty: nothing is known.
std::string device_use(dev_t device);

}  // namespace crosscut::clone
