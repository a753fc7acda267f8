// The request to clone, and the messages between conductor and ranks that follow. They are JSON, parsed as
// strictly as all external input.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "program/program.hpp"

namespace crosscut::clone {

struct CloneJob {
  std::string source, target;    // target may contain {rank} and {host}
  bool overwrite = false;        // allow replacing an existing file
  std::string confirmed;         // code of the devices that may be overwritten
  bool resume = false;           // keep the existing content that is right
  std::int64_t chunk_bytes = 0;  // 0: the conductor chooses
  // Properties of the source, once known.
  std::int64_t bytes = 0;
  std::int64_t permissions = 0644;
};

// Throws UsageError naming the invalid or unknown member.
CloneJob parse_clone_job(const json::Value& value);
json::Value to_json(const CloneJob& job);

// Returns a chunk size large enough for few system calls, and small enough for a long chain to work as a
// pipeline. It grows with the image, so that lists of chunks stay short.
std::int64_t choose_chunk_bytes(std::int64_t image_bytes);
// Throws UsageError if there would be too many chunks.
void check_chunks(std::int64_t image_bytes, std::int64_t chunk_bytes);

// From the conductor: the ranks of the chain, in order, from now on.
struct Chain {
  std::uint32_t epoch = 0;
  std::vector<Rank> living;
};
Chain parse_chain(const json::Value& value);
json::Value to_json(const Chain& chain);

// From a rank that is ready: the size of the source, or the place of a copy.
struct Prepared {
  std::int64_t bytes = 0, permissions = 0;
  std::string path, identity;  // identity: of the open file or device, within its machine
  std::string place;           // identity of the file that a copy would replace; empty: none
  std::string warning;
  // Taken from Device; empty for a file.
  std::string device, device_id, disk;
  bool is_whole_disk = false;
};
Prepared parse_prepared(const json::Value& value);
json::Value to_json(const Prepared& prepared);

// From a rank, periodically: its progress.
struct Standing {
  std::int64_t received_bytes = 0, kept_bytes = 0;
  std::int64_t checked_bytes = 0;  // bytes already in the SHA-256
  std::string sha256;              // empty until everything is on disk
  bool has_changed = false;        // true: the source changed meanwhile
};
Standing parse_standing(const json::Value& value);
json::Value to_json(const Standing& standing);

}  // namespace crosscut::clone
