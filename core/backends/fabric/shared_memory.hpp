// Files that the provider shm leaves behind when a process is killed.
#pragma once

#include <string>

namespace crosscut::backends::fabric {

// Removes this user's shared memory of endpoints whose process is gone. A killed process cannot.
void remove_left_behind(const std::string& folder = "/dev/shm");

}  // namespace crosscut::backends::fabric
