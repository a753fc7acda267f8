#include "backends/udp/socket.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace crosscut::backends::udp {
namespace {

// From include/uapi/linux/udp.h, Linux 4.18 and 5.0; the C library's headers may be older.
constexpr int udp_segment = 103;
constexpr int udp_gro = 104;
constexpr std::size_t buffer_bytes_each = 65536;

bool retry_later() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// True if the device's queue is full or a filter drops the datagram on its way out: it is lost, as it might
// have been further along the route.
bool dropped_here() { return errno == ENOBUFS || errno == EPERM; }

// True if the route or the adapter cannot do segmentation; single datagrams still work.
bool cannot_segment() {
  return errno == EINVAL || errno == EIO || errno == EMSGSIZE || errno == EOPNOTSUPP || errno == ENOPROTOOPT;
}

[[noreturn]] void fail(const session::Address& to, std::size_t bytes) {
  if (errno == EMSGSIZE) {
    throw UsageError("datagrams of " + std::to_string(bytes) + " bytes are too large for the route to " +
                     to.host() + "; lower --datagram");
  }
  throw session::ConnectionLost("sending to " + to.text() + ": " + std::strerror(errno));
}

template <class Value>
void set_option(const Fd& fd, int option, const Value& value, const char* task) {
  if (::setsockopt(fd.get(), SOL_SOCKET, option, &value, sizeof value) != 0) throw_errno(task);
}

sock_filter instruction(int code, std::uint32_t operand, std::uint8_t if_true = 0,
                        std::uint8_t if_false = 0) {
  return {static_cast<std::uint16_t>(code), if_true, if_false, operand};
}

}  // namespace

struct UdpSocket::Incoming {
  std::unique_ptr<std::byte[]> bytes =
      std::make_unique_for_overwrite<std::byte[]>(receive_batch * buffer_bytes_each);
  std::array<mmsghdr, receive_batch> messages{};
  std::array<iovec, receive_batch> pieces{};
  alignas(cmsghdr) std::array<std::array<std::byte, CMSG_SPACE(sizeof(int))>, receive_batch> control{};

  Incoming() {
    for (std::size_t i = 0; i < receive_batch; ++i) {
      pieces[i] = {bytes.get() + i * buffer_bytes_each, buffer_bytes_each};
      messages[i].msg_hdr.msg_iov = &pieces[i];
      messages[i].msg_hdr.msg_iovlen = 1;
    }
    prepare(receive_batch);
  }

  // Restores what recvmmsg() overwrites in the messages that it returns.
  void prepare(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      messages[i].msg_hdr.msg_control = control[i].data();
      messages[i].msg_hdr.msg_controllen = control[i].size();
    }
  }

  // Returns the size of the datagrams that the kernel joined in the i-th buffer, the same for all but the
  // last; `whole` if it joined none.
  std::size_t segment_bytes(std::size_t i, std::size_t whole) {
    auto& header = messages[i].msg_hdr;
    for (auto* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
      if (at->cmsg_level != IPPROTO_UDP || at->cmsg_type != udp_gro) continue;
      int size = 0;
      std::memcpy(&size, CMSG_DATA(at), sizeof size);
      if (size > 0) return static_cast<std::size_t>(size);
    }
    return whole;
  }
};

UdpSocket::UdpSocket(const session::Address& interface, const UdpSocketOptions& options, std::uint64_t token)
    : fd_(::socket(interface.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0)),
      token_(token),
      offload_(options.offload),
      incoming_(std::make_unique<Incoming>()) {
  if (!fd_) throw_errno("create a UDP socket");
  drop_strangers();  // before bind(): nobody can send to it yet
  constexpr std::int64_t beyond_any_limit = 1 << 30;
  set_buffer(SO_RCVBUF, SO_RCVBUFFORCE, options.receive_buffer_bytes);
  if (options.receive_buffer_bytes == 0) set_buffer(SO_RCVBUF, SO_RCVBUF, beyond_any_limit);
  set_buffer(SO_SNDBUF, SO_SNDBUFFORCE, options.send_buffer_bytes);
  const int one = 1;
  if (offload_ && ::setsockopt(fd_.get(), IPPROTO_UDP, udp_gro, &one, sizeof one) != 0) offload_ = false;
  const auto any_port = interface.with_port(0);
  if (::bind(fd_.get(), any_port.data(), any_port.length()) != 0) {
    throw_errno("bind a UDP socket to " + interface.host());
  }
  pieces_.resize(2 * batch_datagrams);
}

UdpSocket::~UdpSocket() = default;

// Forcing a size needs CAP_NET_ADMIN; without it the system's limit applies.
void UdpSocket::set_buffer(int option, int forced_option, std::int64_t bytes) {
  if (bytes == 0) return;
  const auto asked = static_cast<int>(std::min<std::int64_t>(bytes, 1 << 30));
  if (::setsockopt(fd_.get(), SOL_SOCKET, forced_option, &asked, sizeof asked) == 0) return;
  set_option(fd_, option, asked, "set a UDP socket's buffer");
}

// Attaches a classic BPF filter, so that a flood of strangers' datagrams neither fills the buffer nor wakes
// the rank. The filter sees the UDP header, then the payload, as big-endian words.
void UdpSocket::drop_strangers() {
  std::array<std::uint32_t, 2> words;
  std::memcpy(words.data(), &token_, sizeof words);
  std::array filter{instruction(BPF_LD | BPF_W | BPF_ABS, sizeof(udphdr)),
                    instruction(BPF_JMP | BPF_JEQ | BPF_K, ntohl(words[0]), 0, 3),
                    instruction(BPF_LD | BPF_W | BPF_ABS, sizeof(udphdr) + 4),
                    instruction(BPF_JMP | BPF_JEQ | BPF_K, ntohl(words[1]), 0, 1),
                    instruction(BPF_RET | BPF_K, 0xffffffff),
                    instruction(BPF_RET | BPF_K, 0)};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  set_option(fd_, SO_ATTACH_FILTER, program, "attaching a filter to a UDP socket");
}

void UdpSocket::set_patience(double seconds) {
  const auto microseconds = static_cast<long>(seconds * 1e6);
  const timeval patience{microseconds / 1'000'000, microseconds % 1'000'000};
  set_option(fd_, SO_RCVTIMEO, patience, "set a UDP socket's timeout");
}

bool UdpSocket::receive(std::vector<Datagram>& datagrams, std::int64_t& useless, bool wait) {
  datagrams.clear();
  const int count = ::recvmmsg(fd_.get(), incoming_->messages.data(), receive_batch,
                               wait ? MSG_WAITFORONE : MSG_DONTWAIT, nullptr);
  if (count < 0) {
    if (retry_later() || errno == ECONNREFUSED) return false;
    throw_errno("receive datagrams");
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    std::span<const std::byte> rest(incoming_->bytes.get() + i * buffer_bytes_each,
                                    incoming_->messages[i].msg_len);
    const auto segment = incoming_->segment_bytes(i, rest.size());
    do {
      const auto one = rest.first(std::min(segment, rest.size()));
      rest = rest.subspan(one.size());
      Datagram datagram;
      if (one.size() < sizeof datagram.header) {
        ++useless;
        continue;
      }
      std::memcpy(&datagram.header, one.data(), sizeof datagram.header);
      datagram.payload = one.subspan(sizeof datagram.header);
      datagrams.push_back(datagram);
    } while (!rest.empty());
  }
  incoming_->prepare(static_cast<std::size_t>(count));
  return static_cast<std::size_t>(count) == receive_batch;
}

ssize_t UdpSocket::send_one(const session::Address& to, std::span<iovec> pieces, std::size_t segment_bytes) {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> control{};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(to.data());  // sendmsg() does not write to it
  message.msg_namelen = to.length();
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  if (segment_bytes > 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    auto* const at = CMSG_FIRSTHDR(&message);
    at->cmsg_level = IPPROTO_UDP;
    at->cmsg_type = udp_segment;
    at->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto size = static_cast<std::uint16_t>(segment_bytes);
    std::memcpy(CMSG_DATA(at), &size, sizeof size);
  }
  return ::sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::size_t UdpSocket::send_each(const session::Address& to, std::span<iovec> pieces) {
  const auto count = pieces.size() / 2;
  std::array<mmsghdr, batch_datagrams> messages;
  for (std::size_t i = 0; i < count; ++i) {
    messages[i] = {};
    auto& header = messages[i].msg_hdr;
    header.msg_name = const_cast<sockaddr*>(to.data());
    header.msg_namelen = to.length();
    header.msg_iov = &pieces[2 * i];
    header.msg_iovlen = 2;
  }
  const int sent =
      ::sendmmsg(fd_.get(), messages.data(), static_cast<unsigned>(count), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (retry_later()) return 0;
  if (dropped_here()) return 1;
  fail(to, pieces[0].iov_len + pieces[1].iov_len);
}

std::size_t UdpSocket::send(const session::Address& to, std::span<const DatagramHeader> headers,
                            std::span<const std::byte> payload, std::size_t chunk_bytes) {
  const auto count = headers.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto piece =
        payload.subspan(i * chunk_bytes, std::min(chunk_bytes, payload.size() - i * chunk_bytes));
    // iovec serves receiving too, so its pointer is not const; sending does not write through it.
    pieces_[2 * i] = {const_cast<DatagramHeader*>(&headers[i]), sizeof(DatagramHeader)};
    pieces_[2 * i + 1] = {const_cast<std::byte*>(piece.data()), piece.size()};
  }
  const std::span pieces(pieces_.data(), 2 * count);
  if (count == 1 || offload_) {
    const auto segment_bytes = count == 1 ? 0 : sizeof(DatagramHeader) + chunk_bytes;
    if (send_one(to, pieces, segment_bytes) >= 0 || dropped_here()) return count;
    if (retry_later()) return 0;
    if (count == 1 || !cannot_segment()) fail(to, pieces[0].iov_len + pieces[1].iov_len);
    offload_ = false;
  }
  return send_each(to, pieces);
}

int UdpSocket::buffer_bytes(int option) const {
  int value = 0;
  socklen_t size = sizeof value;
  if (::getsockopt(fd_.get(), SOL_SOCKET, option, &value, &size) != 0) {
    throw_errno("read a UDP socket's buffer");
  }
  return value;
}

std::int64_t UdpSocket::kernel_drops() const {
  std::array<std::uint32_t, SK_MEMINFO_VARS> values{};
  socklen_t size = sizeof values;
  if (::getsockopt(fd_.get(), SOL_SOCKET, SO_MEMINFO, values.data(), &size) != 0) return 0;
  return values[SK_MEMINFO_DROPS];
}

std::size_t chunk_that_fits(const session::Address& interface) {
  constexpr std::size_t ethernet_mtu = 1500;  // used if no interface with this address can be asked
  const std::size_t headers =
      (interface.family() == AF_INET6 ? sizeof(ip6_hdr) : sizeof(iphdr)) + sizeof(udphdr);
  std::size_t mtu = ethernet_mtu;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw_errno("list the network interfaces");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  for (const auto* it = list; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr == nullptr || it->ifa_addr->sa_family != interface.family()) continue;
    const socklen_t length = interface.family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (session::Address(it->ifa_addr, length).host() != interface.host()) continue;
    ifreq request{};
    std::strncpy(request.ifr_name, it->ifa_name, IFNAMSIZ - 1);
    const Fd asking(::socket(interface.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (asking && ::ioctl(asking.get(), SIOCGIFMTU, &request) == 0) {
      mtu = static_cast<std::size_t>(std::max(request.ifr_mtu, 576));  // RFC 1122: every host accepts 576
    }
    break;
  }
  return std::min(mtu - headers, most_datagram_bytes) - sizeof(DatagramHeader);
}

}  // namespace crosscut::backends::udp
