// Which of this node's addresses the ranks bind to, when the person names none by number.
#pragma once

#include <string>
#include <string_view>

namespace crosscut::session {

// `interface`: a numeric address or interface name is returned as it is; "10.1.0.0/16" becomes this node's
// address in that subnet; "auto" the address that the kernel would use towards `towards` (a host name or an
// "address:port"), or without it the first interface that is up and no loopback, or else 127.0.0.1.
// Throws UsageError naming the subnet and this node's addresses, RunError where nothing can be found out.
std::string resolve_interface(std::string_view interface, std::string_view towards);

}  // namespace crosscut::session
