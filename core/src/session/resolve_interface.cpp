#include "session/resolve_interface.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>

#include <memory>
#include <vector>

#include "base/error.hpp"
#include "base/words.hpp"
#include "program/parameters.hpp"
#include "session/socket.hpp"

namespace crosscut::session {
namespace {

bool same_prefix(std::span<const std::byte> a, std::span<const std::byte> b, std::size_t bits) {
  if (a.size() != b.size()) return false;
  for (std::size_t bit = 0; bit < bits; ++bit)
    if (std::to_integer<unsigned>((a[bit / 8] ^ b[bit / 8]) >> (7 - bit % 8)) & 1) return false;
  return true;
}

std::string in_subnet(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string prefix(text.substr(0, slash));
  const std::int64_t bits = program::parse_integer(text.substr(slash + 1));
  std::byte network[16];
  const bool is_v4 = ::inet_pton(AF_INET, prefix.c_str(), network) == 1;
  if (!is_v4 && ::inet_pton(AF_INET6, prefix.c_str(), network) != 1)
    throw UsageError("interface '" + std::string(text) + "': '" + prefix + "' is not a numeric address");
  const auto wanted = std::span(network).first(is_v4 ? 4 : 16);
  if (bits < 0 || bits > std::ssize(wanted) * 8)
    throw UsageError("interface '" + std::string(text) + "': the prefix length must be from 0 to " +
                     (is_v4 ? "32" : "128"));
  std::vector<std::string> others;
  for (const LocalAddress& local : local_addresses()) {
    if (same_prefix(local.address.number(), wanted, static_cast<std::size_t>(bits)))
      return local.address.host();
    others.push_back(local.address.host());
  }
  throw UsageError("no address of this node is in " + std::string(text) + "; its addresses are " +
                   joined(others));
}

// Returns the source address that the kernel chooses for `target`; empty if there is no route. Connecting a
// datagram socket sends nothing.
std::string source_towards(const addrinfo& target) {
  const Fd probe(::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe || ::connect(probe.get(), target.ai_addr, target.ai_addrlen) != 0) return {};
  return local_address(probe.get()).host();
}

// Returns the host of "address:port"; empty for a name that the launcher knows.
std::string numeric_host(std::string_view towards) {
  try {
    return Address::parse(towards).host();
  } catch (const UsageError&) {
    return {};
  }
}

bool is_loopback(const std::string& address) { return address == "::1" || address.starts_with("127."); }

std::string towards_host(std::string_view towards) {
  const std::string numeric = numeric_host(towards);
  const std::string host = numeric.empty() ? std::string(towards) : numeric;
  const bool may_be_loopback = !numeric.empty() || host == "localhost";
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  // connect() needs a port before it chooses a route; any will do (9: discard).
  if (::getaddrinfo(host.c_str(), "9", &hints, &list) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, ::freeaddrinfo);
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next)
    if (std::string source = source_towards(*entry);
        !source.empty() && (may_be_loopback || !is_loopback(source)))
      return source;
  return {};
}

std::string first_outside() {
  for (const LocalAddress& local : local_addresses())
    if ((local.flags & IFF_UP) && !(local.flags & IFF_LOOPBACK)) return local.address.host();
  return "127.0.0.1";
}

}  // namespace

std::string resolve_interface(std::string_view interface, std::string_view towards) {
  if (interface.find('/') != std::string_view::npos) return in_subnet(interface);
  if (interface != "auto") return std::string(interface);
  if (!towards.empty())
    if (std::string source = towards_host(towards); !source.empty()) return source;
  return first_outside();
}

}  // namespace crosscut::session
