// What a request to clone says, and what conductor and ranks then say to each other: JSON, parsed as strictly
// as all that comes from outside.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "program/program.hpp"

namespace crosscut::clone {

struct CloneJob {
  std::string source, target;    // target may contain {rank} and {host}
  bool overwrite = false;        // an existing file, a device
  bool resume = false;           // keep of what is there what is right
  std::int64_t chunk_bytes = 0;  // 0: the conductor chooses by the size
  // The source's, once it is known.
  std::int64_t bytes = 0;
  std::int64_t permissions = 0644;
};

// Throws UsageError naming the member. Unknown members are errors.
CloneJob parse_clone_job(const json::Value& value);
json::Value to_json(const CloneJob& job);

// Large enough for few system calls and small enough to travel down a long chain; more for large images, so
// that lists of chunks stay short.
std::int64_t choose_chunk_bytes(std::int64_t image_bytes);
// Throws UsageError where so many chunks are too many.
void check_chunks(std::int64_t image_bytes, std::int64_t chunk_bytes);

// conductor: this is the order of the chain from now on.
struct Chain {
  std::uint32_t epoch = 0;
  std::vector<Rank> living;
};
Chain parse_chain(const json::Value& value);
json::Value to_json(const Chain& chain);

// rank: I could begin. Of the source its size; of a target where it will be.
struct Prepared {
  std::int64_t bytes = 0, permissions = 0;
  std::string path, identity;  // identity: of the open file or device on its machine
  std::string place;           // identity of what a copy would replace; empty: nothing
  std::string warning;
};
Prepared parse_prepared(const json::Value& value);
json::Value to_json(const Prepared& prepared);

// rank, now and then.
struct Standing {
  std::int64_t received_bytes = 0, kept_bytes = 0;
  std::int64_t checked_bytes = 0;  // of the whole's SHA-256
  std::string sha256;              // at the end, when all is on the disk; before that empty
  bool has_changed = false;        // the source, meanwhile
};
Standing parse_standing(const json::Value& value);
json::Value to_json(const Standing& standing);

}  // namespace crosscut::clone
