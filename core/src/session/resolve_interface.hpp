// Chooses the address that this node's ranks bind to.
#pragma once

#include <string>
#include <string_view>

namespace crosscut::session {

// Resolves `interface`. A numeric address or interface name is returned unchanged. "10.1.0.0/16" becomes this
// node's address in that subnet. "auto" becomes the address that the kernel would use to reach `towards` (a
// host name or "address:port"). Without `towards`, if it cannot be reached, or if its name stands for this
// machine's loopback (Debian gives the own name to 127.0.1.1), "auto" becomes the first address of an
// interface that is up and not a loopback, or else 127.0.0.1. Throws UsageError naming the subnet and this
// node's addresses if none is in it, RunError if the system cannot be queried.
std::string resolve_interface(std::string_view interface, std::string_view towards);

}  // namespace crosscut::session
