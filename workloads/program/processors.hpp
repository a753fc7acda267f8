// Processors and memory of the machine, as reported by Linux.
#pragma once

#include <sched.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "npb/common/communicator.hpp"

namespace crosscut::program {

using npb::Communicator;

// Returns true if time and processors are simulated (SMPI); processors then have no clock of their own.
inline bool is_simulated() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return false;
  return std::string_view(text.data(), static_cast<std::size_t>(length)).find("SMPI") !=
         std::string_view::npos;
}

// Returns the processor time that this thread has used; empty if time is simulated.
inline std::optional<double> processor_seconds() {
  timespec used{};
  if (is_simulated() || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) != 0) return std::nullopt;
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

// Returns the numbers of the processors that this process may use.
inline std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return found;
  for (int one = 0; one < CPU_SETSIZE; ++one)
    if (CPU_ISSET(static_cast<std::size_t>(one), &set)) found.push_back(one);
  return found;
}

// Binds this process to one processor. Throws std::runtime_error.
inline void pin(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(processor), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    throw std::runtime_error("processor " + std::to_string(processor) +
                             " cannot be taken: " + std::strerror(errno));
}

// Returns a number that tells the machines of one job apart.
inline std::uint64_t machine() {
  constexpr std::hash<std::string_view> hash;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (std::getline(file, id)) return hash(id);
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  return hash({name.data(), static_cast<std::size_t>(length)});
}

// Returns a number for each rank's machine. Nodes of an emulated cluster share one machine and its
// processors, so this asks the kernel, not for the host's name.
inline std::vector<std::uint64_t> machines(Communicator& world) { return world.all_gather(machine()); }

// Returns this machine's available memory, as estimated by the kernel; empty if unknown.
inline std::optional<std::int64_t> available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    std::int64_t kibibytes = 0;
    if (name == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
    std::getline(file, name);
  }
  return std::nullopt;
}

}  // namespace crosscut::program
