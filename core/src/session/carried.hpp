// What TCP connections have carried, by the kernel's counters.
#pragma once

#include <cstdint>

#include "base/json.hpp"

namespace crosscut::session {

struct Carried {
  std::int64_t sent_bytes = 0, received_bytes = 0;        // payload
  std::int64_t sent_segments = 0, received_segments = 0;  // with those that only acknowledge
  Carried& operator+=(const Carried& other);
};

// Returns zeros for a connection within this node, which no adapter carries, and if the kernel does not tell.
Carried carried(int fd);

// {sent_bytes, received_bytes, sent_segments, received_segments}
json::Object to_json(const Carried& carried);
Carried carried_in(const json::Value& value);

}  // namespace crosscut::session
