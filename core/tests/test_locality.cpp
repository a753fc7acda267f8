#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "measure/locality.hpp"
#include "measure/pinning.hpp"
#include "tests/check.hpp"
#include "tests/store_folder.hpp"

using namespace crosscut;
using namespace crosscut::tests;
using namespace crosscut::measure;

namespace {

using Cores = std::vector<int>;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text << '\n';
}

// A machine of two sockets with four cores of two threads each: 0 to 3 and their second threads 8 to 11 in
// the first, 4 to 7 and 12 to 15 in the second, with the adapter ib0, and ib1 whose device is below a PCI
// device.
fs::path machine(const fs::path& sys) {
  for (int core = 0; core < 16; ++core)
    write(sys / "devices/system/cpu" / ("cpu" + std::to_string(core)) / "topology/thread_siblings_list",
          std::to_string(core % 8) + "," + std::to_string(core % 8 + 8));
  write(sys / "devices/system/node/node1/cpulist", "4-7,12-15");
  write(sys / "devices/system/node/node0/cpulist", "0-3,8-11");
  write(sys / "devices/system/node/node2/cpulist", "");  // memory alone
  write(sys / "devices/pci/0000:81:00.0/local_cpulist", "4-7,12-15");
  write(sys / "devices/pci/0000:01:00.0/local_cpulist", "0-3,8-11");
  fs::create_directories(sys / "devices/pci/0000:01:00.0/virtio0");
  const auto net = sys / "class/net";
  fs::create_directories(net / "ib0");
  fs::create_directories(net / "ib1");
  fs::create_directories(net / "bond0");
  fs::create_directories(net / "lo");
  fs::create_directory_symlink(sys / "devices/pci/0000:81:00.0", net / "ib0/device");
  fs::create_directory_symlink(sys / "devices/pci/0000:01:00.0/virtio0", net / "ib1/device");
  fs::create_directory_symlink(net / "ib0", net / "bond0/lower_ib0");
  fs::create_directory_symlink(net / "bond0", net / "lo/lower_bond0");
  fs::create_directory_symlink(net / "lo", net / "bond0/lower_lo");  // a circle, which the kernel never makes
  return sys;
}

}  // namespace

TEST(core_lists_are_read_and_written_as_the_kernel_writes_them) {
  CHECK_EQ(parse_core_list("0-3,8"), (Cores{0, 1, 2, 3, 8}));
  CHECK_EQ(parse_core_list("5"), (Cores{5}));
  for (const std::string text :
       {"", "x", "3-1", "1,1", "0-", "-1", "1,", "0-99999999999", "0-2000000000", "1;2"})
    CHECK(parse_core_list(text).empty());
  for (const std::string text : {"0-3,8", "5", "0-1,3-4", "0,2,4"})
    CHECK_EQ(core_list(parse_core_list(text)), text);
}

TEST(an_adapter_is_near_the_cores_of_its_socket) {
  const StoreFolder folder;
  const fs::path sys = machine(folder / "sys");
  CHECK_EQ(cores_near("ib0", sys), (Cores{4, 5, 6, 7, 12, 13, 14, 15}));
  CHECK_EQ(cores_near("ib1", sys), (Cores{0, 1, 2, 3, 8, 9, 10, 11}));
  CHECK_EQ(cores_near("bond0", sys), cores_near("ib0", sys));
  CHECK(cores_near("absent", sys).empty());
  CHECK(cores_near("../../devices", sys).empty());
  CHECK_EQ(numa_nodes(sys), (std::vector<std::string>{"0-3,8-11", "4-7,12-15"}));
  CHECK(numa_nodes(folder / "absent").empty());
}

TEST(ranks_take_near_cores_first_and_second_threads_last) {
  const StoreFolder folder;
  const fs::path sys = machine(folder / "sys");
  const Cores allowed{0, 1, 2, 3, 4, 5, 6, 7, 8, 12};
  const auto near = cores_near("ib0", sys);
  CHECK_EQ(by_nearness(allowed, near, sys), (Cores{4, 5, 6, 7, 12, 0, 1, 2, 3, 8}));
  CHECK_EQ(by_nearness(allowed, {}, sys), allowed);
  CHECK_EQ(by_nearness(allowed, near, folder / "absent"), (Cores{4, 5, 6, 7, 12, 0, 1, 2, 3, 8}));
  CHECK_EQ(plan_cores(true, {}, by_nearness(allowed, near, sys), 6), (Cores{4, 5, 6, 7, 12, 0}));
  CHECK_EQ(plan_cores(true, Cores{0}, by_nearness(allowed, near, sys), 1), (Cores{0}));
}
