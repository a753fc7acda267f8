#include "tap_device.hpp"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "error.hpp"

namespace crosscut::frames {
namespace {

Fd open_or_throw(const std::string& path, int flags, const std::string& doing) {
  Fd fd(::open(path.c_str(), flags | O_CLOEXEC));
  if (!fd) throw_errno(doing + " " + path);
  return fd;
}

// This thread is in another network namespace while it lives.
class Visit {
 public:
  explicit Visit(const std::string& path)
      : home_(open_or_throw("/proc/thread-self/ns/net", O_RDONLY, "opening")) {
    const auto there = open_or_throw(path, O_RDONLY, "opening the network namespace");
    if (::setns(there.get(), CLONE_NEWNET) != 0)
      throw_errno("entering the network namespace " + path +
                  " (needs root, or to be root in its user namespace)");
  }
  // The way home needs no more rights than the way there; were it barred, what follows uses descriptors only.
  ~Visit() { static_cast<void>(::setns(home_.get(), CLONE_NEWNET)); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  Fd home_;
};

ifreq request_for(const TapEntry& entry) {
  ifreq request{};
  std::memcpy(request.ifr_name, entry.tap.c_str(), entry.tap.size() + 1);  // the list bounds its length
  return request;
}

void ask(const Fd& fd, unsigned long what, ifreq& request, const std::string& doing) {
  if (::ioctl(fd.get(), what, &request) != 0) throw_errno(doing);
}

void set_up(const TapEntry& entry, const TapSettings& settings, const std::string& where) {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) throw_errno("opening a socket in " + entry.netns);
  auto request = request_for(entry);
  request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  std::memcpy(request.ifr_hwaddr.sa_data, entry.mac.data(), entry.mac.size());
  ask(socket, SIOCSIFHWADDR, request, "setting the hardware address " + to_text(entry.mac) + where);
  request = request_for(entry);
  request.ifr_mtu = settings.mtu;
  ask(socket, SIOCSIFMTU, request, "setting an MTU of " + std::to_string(settings.mtu) + where);
  request = request_for(entry);
  request.ifr_qlen = settings.queue_frames;
  ask(socket, SIOCSIFTXQLEN, request, "setting a queue of " + std::to_string(settings.queue_frames) + where);
  request = request_for(entry);
  ask(socket, SIOCGIFFLAGS, request, "reading the flags" + where);
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  ask(socket, SIOCSIFFLAGS, request, "switching on" + where);
}

}  // namespace

Fd make_tap(const TapEntry& entry, const TapSettings& settings) {
  const auto where = " of TAP " + entry.tap + " in " + entry.netns;
  const Visit visit(entry.netns);
  // Here, not before: the device will be in the namespace in which this was opened.
  auto tap = open_or_throw("/dev/net/tun", O_RDWR | O_NONBLOCK, "opening");
  auto request = request_for(entry);
  request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL);
  if (::ioctl(tap.get(), TUNSETIFF, &request) != 0) {
    if (errno == EBUSY)
      throw RunError("there is an interface " + entry.tap + " in " + entry.netns +
                     " already; remove it first");
    throw_errno("making" + where);
  }
  // No segmentation by the adapter: what is read are frames as on the wire.
  const unsigned offloads = settings.checksums ? 0 : TUN_F_CSUM;
  if (::ioctl(tap.get(), TUNSETOFFLOAD, offloads) != 0) throw_errno("setting the offloads" + where);
  set_up(entry, settings, where);
  return tap;
}

std::int64_t lost_in_host(const TapEntry& entry) {
  try {
    const Visit visit(entry.netns);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/thread-self/net/dev", "re"),
                                                               &std::fclose);
    std::array<char, 512> line{};
    while (file && std::fgets(line.data(), line.size(), file.get()) != nullptr) {
      std::array<char, 64> name{};
      long long dropped = 0;
      // proc(5): eight counts of what was received, then bytes, packets, errors and drops of what was sent.
      if (std::sscanf(line.data(), " %63[^:]: %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %lld", name.data(),
                      &dropped) == 2 &&
          entry.tap == name.data())
        return dropped;
    }
  } catch (const RunError&) {  // the namespace is gone, and its counts with it
  }
  return -1;
}

}  // namespace crosscut::frames
