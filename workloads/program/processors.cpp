#include "program/processors.hpp"

#include <sched.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>

namespace crosscut::program {

namespace {

// FNV-1a, 64 bits: enough to tell machines of one job apart.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 14695981039346656037U;
  for (const char one : text) value = (value ^ static_cast<unsigned char>(one)) * 1099511628211U;
  return value;
}

std::uint64_t machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (std::getline(file, id)) return hash(id);
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  return hash({name.data(), static_cast<std::size_t>(length)});
}

}  // namespace

bool is_simulated() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return false;
  return std::string_view(text.data(), static_cast<std::size_t>(length)).find("SMPI") !=
         std::string_view::npos;
}

std::optional<double> processor_seconds() {
  timespec used{};
  if (is_simulated() || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) != 0) return std::nullopt;
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return found;
  for (int one = 0; one < CPU_SETSIZE; ++one)
    if (CPU_ISSET(static_cast<std::size_t>(one), &set)) found.push_back(one);
  return found;
}

void pin(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(processor), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    throw std::runtime_error("processor " + std::to_string(processor) +
                             " cannot be taken: " + std::strerror(errno));
}

std::vector<std::uint64_t> machines(Communicator& world) { return world.all_gather(machine()); }

std::optional<std::int64_t> available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    std::int64_t kibibytes = 0;
    if (name == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
    std::getline(file, name);
  }
  return std::nullopt;
}

}  // namespace crosscut::program
