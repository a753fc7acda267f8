// Tells which cores are near a network adapter and which share a core, from the kernel's /sys (attributes of
// its documented ABI: local_cpulist, thread_siblings_list, cpulist).
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crosscut::measure {

// Returns the numbers in a list as the kernel writes it ("0-3,8"), ascending; empty if the text is no such
// list.
std::vector<int> parse_core_list(std::string_view text);
// Returns the list of numbers in ascending order as the kernel writes it.
std::string core_list(std::span<const int> numbers);

// Returns the cores near a network interface: those local to its PCI device, or to the devices below a bond
// or VLAN. Empty if the kernel does not tell, as for virtual interfaces.
std::vector<int> cores_near(const std::string& interface, const std::filesystem::path& sys = "/sys");

// Returns the cores of each NUMA node that has any, as core_list(); empty if the kernel does not tell.
std::vector<std::string> numa_nodes(const std::filesystem::path& sys = "/sys");

// Returns the allowed cores in the order in which ranks take them: near ones first (`near` ascending), and of
// either one hardware thread of each core before the others.
std::vector<int> by_nearness(std::span<const int> allowed, std::span<const int> near,
                             const std::filesystem::path& sys = "/sys");

}  // namespace crosscut::measure
