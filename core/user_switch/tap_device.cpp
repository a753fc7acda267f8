#include "user_switch/tap_device.hpp"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/error.hpp"

namespace crosscut::user_switch {
namespace {

Fd open_or_throw(const std::string& path, int flags) {
  Fd fd(::open(path.c_str(), flags | O_CLOEXEC));
  if (!fd) throw_errno("open " + path);
  return fd;
}

// Keeps this thread in another network namespace while the object lives.
class Visit {
 public:
  explicit Visit(const std::string& path) : home_(open_or_throw("/proc/thread-self/ns/net", O_RDONLY)) {
    const auto there = open_or_throw(path, O_RDONLY);
    if (::setns(there.get(), CLONE_NEWNET) != 0)
      throw_errno("enter the network namespace " + path +
                  " (needs root, or to be root in its user namespace)");
  }
  // Returning needs no more rights than entering. If it fails, all that follows uses descriptors only.
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

void ask(const Fd& fd, unsigned long what, ifreq& request, const std::string& task) {
  if (::ioctl(fd.get(), what, &request) != 0) throw_errno(task);
}

// Sets an attribute of the device by rtnetlink(7): root of a user namespace may do that, but not by ioctl.
void set_number(const TapEntry& entry, unsigned short attribute, int value, const std::string& task) {
  struct {
    nlmsghdr header;
    ifinfomsg link;
    rtattr attribute;
    std::uint32_t value;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_SETLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  request.link.ifi_index = static_cast<int>(::if_nametoindex(entry.tap.c_str()));
  request.attribute.rta_len = RTA_LENGTH(sizeof request.value);
  request.attribute.rta_type = attribute;
  request.value = static_cast<std::uint32_t>(value);
  struct {
    nlmsghdr header;
    nlmsgerr error;
    std::array<char, sizeof request> asked;
  } answer{};
  const Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket || ::send(socket.get(), &request, sizeof request, 0) < 0 ||
      ::recv(socket.get(), &answer, sizeof answer, 0) < 0)
    throw_errno(task);
  errno = answer.header.nlmsg_type == NLMSG_ERROR ? -answer.error.error : EPROTO;
  if (errno != 0) throw_errno(task);
}

void set_up(const TapEntry& entry, const TapSettings& settings, const std::string& where) {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) throw_errno("open a socket in " + entry.netns);
  auto request = request_for(entry);
  request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  std::memcpy(request.ifr_hwaddr.sa_data, entry.mac.data(), entry.mac.size());
  ask(socket, SIOCSIFHWADDR, request, "set the hardware address " + to_text(entry.mac) + where);
  request = request_for(entry);
  request.ifr_mtu = settings.mtu;
  ask(socket, SIOCSIFMTU, request, "set an MTU of " + std::to_string(settings.mtu) + where);
  set_number(entry, IFLA_TXQLEN, settings.queue_frames,
             "set a queue of " + std::to_string(settings.queue_frames) + where);
  request = request_for(entry);
  ask(socket, SIOCGIFFLAGS, request, "read the flags" + where);
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  ask(socket, SIOCSIFFLAGS, request, "set the flags" + where);
}

}  // namespace

Fd make_tap(const TapEntry& entry, const TapSettings& settings, int frames_at_once) {
  const auto where = " of TAP " + entry.tap + " in " + entry.netns;
  const Visit visit(entry.netns);
  // Open it here: the device belongs to the namespace in which this file was opened.
  auto tap = open_or_throw("/dev/net/tun", O_RDWR | O_NONBLOCK);
  auto request = request_for(entry);
  request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL);
  if (::ioctl(tap.get(), TUNSETIFF, &request) != 0) {
    if (errno == EBUSY)
      throw RunError("there is an interface " + entry.tap + " in " + entry.netns +
                     " already; remove it first");
    throw_errno("create TAP " + entry.tap + " in " + entry.netns);
  }
  // Segmentation offload requires checksum offload.
  unsigned offloads = settings.checksums ? 0 : TUN_F_CSUM;
  if (frames_at_once > 1 && !settings.checksums) offloads |= TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
  if (::ioctl(tap.get(), TUNSETOFFLOAD, offloads) != 0) throw_errno("set the offloads" + where);
  // The host's kernel splits longer bundles.
  if (frames_at_once > 1)
    set_number(entry, IFLA_GSO_MAX_SEGS, frames_at_once, "limit the segments of a bundle" + where);
  set_up(entry, settings, where);
  return tap;
}

void set_carrier(const Fd& tap, const TapEntry& entry, bool is_there) {
  int value = is_there ? 1 : 0;
  if (::ioctl(tap.get(), TUNSETCARRIER, &value) != 0)
    throw_errno("set the carrier of TAP " + entry.tap + " in " + entry.netns);
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
      // proc(5): eight counters of reception, then bytes, packets, errors and drops of transmission.
      if (std::sscanf(line.data(), " %63[^:]: %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %lld", name.data(),
                      &dropped) == 2 &&
          entry.tap == name.data())
        return dropped;
    }
  } catch (const RunError&) {  // the namespace is gone, and its counts with it
  }
  return -1;
}

}  // namespace crosscut::user_switch
