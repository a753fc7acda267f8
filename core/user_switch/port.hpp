// An end of a way: an adapter of a host.
#pragma once

#include <compare>

#include "networks/network.hpp"

namespace crosscut::user_switch {

struct Port {
  networks::Vertex host = 0;
  int adapter = 0;
  friend auto operator<=>(const Port&, const Port&) = default;
};

}  // namespace crosscut::user_switch
