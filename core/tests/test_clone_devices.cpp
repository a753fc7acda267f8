// Devices are recognised by what they are, not by names that the kernel gives anew at each start.
#include <stdlib.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

#include "clone/clone_roster.hpp"
#include "clone/device.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::clone;
namespace fs = std::filesystem;

namespace {

// The folders of a disk "sda" (8:0) with one partition, as the kernel and udev make them.
class Disk {
 public:
  Disk() {
    std::string pattern = (fs::temp_directory_path() / "crosscut-disk-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    root_ = pattern;
    say("sda/dev", "8:0");
    say("sda/sda1/dev", "8:1");
    say("sda/sda1/partition", "1");
    fs::create_directories(root_ / "numbers");
    fs::create_directories(root_ / "links");
    fs::create_symlink("../sda", root_ / "numbers/8:0");
    fs::create_symlink("../sda/sda1", root_ / "numbers/8:1");
  }
  ~Disk() { fs::remove_all(root_); }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  void say(const fs::path& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << text;
  }
  void link(const std::string& name, const std::string& to) const {
    fs::create_symlink("../../" + to, root_ / "links" / name);
  }
  Device described(unsigned minor) const {
    return describe_device(makedev(8, minor), root_ / "numbers", root_ / "links");
  }

 private:
  fs::path root_;
};

CloneMember member(const std::string& node, const Prepared& prepared) {
  CloneMember one;
  one.node = node;
  one.prepared = prepared;
  return one;
}

Prepared on_file(const std::string& path, const std::string& identity) {
  Prepared file;
  file.path = path;
  file.identity = identity;
  return file;
}

Prepared on_device(const std::string& id, const std::string& disk = "8:0", bool is_whole = true) {
  Prepared device = on_file("/dev/x", id);
  device.place = device.device_id = id;
  device.device = "a disk";
  device.disk = disk;
  device.is_whole_disk = is_whole;
  return device;
}

CloneRoster roster(const Prepared& source, const std::vector<CloneMember>& targets) {
  CloneRoster made(targets.size() + 1);
  made.of(0) = member("n0", source);
  for (std::size_t i = 0; i < targets.size(); ++i) made.of(static_cast<Rank>(i + 1)) = targets[i];
  return made;
}

std::string code_of(const std::string& refusal) { return refusal.substr(refusal.rfind(' ') + 1); }

}  // namespace

TEST(a_disk_is_known_by_its_serial_number_and_udevs_readable_link) {
  const Disk disk;
  disk.say("sda/device/model", "Samsung SSD 870  \n");
  disk.say("sda/device/vpd_pg80", std::string("\0\x80\0\x08", 4) + "  S5Y1NJ");
  disk.link("wwn-0x5002538f", "sda");
  disk.link("ata-Samsung_SSD_870_S5Y1NJ", "sda");
  disk.link("ata-Another", "sdb");
  const Device whole = disk.described(0);
  CHECK_EQ(whole.id, "serial S5Y1NJ");
  CHECK(whole.words.starts_with("Samsung SSD 870, serial S5Y1NJ, "));
  CHECK(whole.words.ends_with("/links/ata-Samsung_SSD_870_S5Y1NJ"));
  CHECK(whole.is_whole);
  const Device part = disk.described(1);
  CHECK_EQ(part.id, "serial S5Y1NJ partition 1");
  CHECK_EQ(part.words, "partition 1 of Samsung SSD 870, serial S5Y1NJ");
  CHECK_EQ(part.disk, "8:0");
  CHECK(!part.is_whole);
}

TEST(a_world_wide_name_goes_before_a_serial_number_and_a_name_is_the_last_resort) {
  const Disk disk;
  CHECK_EQ(disk.described(0).id, "name sda");
  CHECK_EQ(disk.described(0).words, "a disk");
  disk.say("sda/serial", "S1");
  CHECK_EQ(disk.described(0).id, "serial S1");
  disk.say("sda/wwid", "naa.5002538f");
  CHECK_EQ(disk.described(0).id, "naa.5002538f");
  CHECK_EQ(disk.described(7).id, "name 8:7");  // unknown to the kernel
}

TEST(what_a_disk_says_of_itself_is_shown_as_plain_text) {
  const Disk disk;
  disk.say("sda/serial", "A\x1b[31m\xff");
  CHECK_EQ(disk.described(0).id, "serial A?[31m?");
}

TEST(devices_are_overwritten_only_with_the_code_of_just_these) {
  const Prepared source = on_file("/image", "1 2");
  const auto made = [&](const std::string& node, const std::string& id) {
    return roster(source, {member("n1", on_device("serial 1")), member(node, on_device(id))});
  };
  const std::string refusal = made("n2", "serial 2").unconfirmed("");
  CHECK(refusal.starts_with("everything on these devices would be lost:\n  rank 1 on n1: /dev/x (a disk)"));
  const std::string code = code_of(refusal);
  CHECK_EQ(code.size(), 10u);
  CHECK_EQ(made("n2", "serial 2").unconfirmed(code), "");
  CHECK(made("n2", "serial 3").unconfirmed(code).starts_with("--confirm " + code + " was given for other"));
  CHECK(!made("n3", "serial 2").unconfirmed(code).empty());
  CHECK(!roster(source, {member("n1", on_device("serial 1"))}).unconfirmed(code).empty());
  CHECK_EQ(roster(source, {member("n1", on_file("/copy", "1 3"))}).unconfirmed(""), "");
}

TEST(a_disk_that_holds_the_source_as_a_partition_is_refused) {
  const Prepared part = on_device("serial 1 partition 1", "8:0", false),
                 other = on_device("serial 2", "8:16");
  const Prepared whole = on_device("serial 1"), second = on_device("serial 1 partition 2", "8:0", false);
  const auto refused = [](const Prepared& source, const Prepared& target) {
    return roster(source, {member("n0", target)}).collision();
  };
  CHECK_EQ(refused(part, whole), "rank 1 on n0 would write over the source, /dev/x");
  CHECK(!refused(whole, part).empty());
  CHECK(!refused(whole, whole).empty());
  CHECK_EQ(refused(part, second), "");
  CHECK_EQ(refused(part, other), "");
}
