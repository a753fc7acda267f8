#include "clone/clone_messages.hpp"

#include "base/error.hpp"
#include "base/json_members.hpp"

namespace crosscut::clone {
namespace {

constexpr std::int64_t least_chunk_bytes = 4 << 10, most_chunk_bytes = 256 << 20;
constexpr std::int64_t usual_chunk_bytes = 1 << 20;
constexpr std::int64_t usual_chunks = 1 << 18, most_chunks = 1 << 22;
constexpr std::int64_t most_ranks = 1 << 20;
// Largest image; the sum of two such sizes does not overflow.
constexpr std::int64_t most_bytes = std::int64_t{1} << 62;

using json::member;
const auto text = json::plain_text;
const auto bytes = json::within(0, most_bytes), permissions = json::within(0, 0777);

const json::Members<CloneJob> job_members{
    member("source", &CloneJob::source, text),
    member("target", &CloneJob::target, text),
    member("overwrite", &CloneJob::overwrite),
    member("confirmed", &CloneJob::confirmed, text),
    member("resume", &CloneJob::resume),
    member("chunk_bytes", &CloneJob::chunk_bytes, json::within(least_chunk_bytes, most_chunk_bytes)),
    member("bytes", &CloneJob::bytes, bytes),
    member("permissions", &CloneJob::permissions, permissions),
};
const json::Members<Chain> chain_members{
    member("epoch", &Chain::epoch, json::within(0, 1 << 30)),
    member("living", &Chain::living, json::list_within<Rank>(0, most_ranks)),
};
const json::Members<Prepared> prepared_members{
    member("bytes", &Prepared::bytes, bytes),  member("permissions", &Prepared::permissions, permissions),
    member("path", &Prepared::path, text),     member("identity", &Prepared::identity, text),
    member("place", &Prepared::place, text),   member("warning", &Prepared::warning, text),
    member("device", &Prepared::device, text), member("device_id", &Prepared::device_id, text),
    member("disk", &Prepared::disk, text),     member("is_whole_disk", &Prepared::is_whole_disk),
};
const json::Members<Standing> standing_members{
    member("received_bytes", &Standing::received_bytes, bytes),
    member("kept_bytes", &Standing::kept_bytes, bytes),
    member("checked_bytes", &Standing::checked_bytes, bytes),
    member("sha256", &Standing::sha256, text),
    member("has_changed", &Standing::has_changed),
};

template <typename Message>
Message read(const json::Value& value, const json::Members<Message>& members, const std::string& what) {
  Message message;
  json::read_members(message, value, members, what);
  return message;
}

}  // namespace

CloneJob parse_clone_job(const json::Value& value) {
  const CloneJob job = read(value, job_members, "the job");
  if (job.source.empty()) throw UsageError("the job has no `source`");
  if (job.target.empty()) throw UsageError("the job has no `target`");
  return job;
}

json::Value to_json(const CloneJob& job) {
  json::Object object = json::write_members(job, job_members);
  if (job.chunk_bytes == 0)  // to be chosen
    std::erase_if(object, [](const auto& said) { return said.first == "chunk_bytes"; });
  return object;
}

std::int64_t choose_chunk_bytes(std::int64_t image_bytes) {
  std::int64_t chunk_bytes = usual_chunk_bytes;
  while (chunk_bytes < most_chunk_bytes && image_bytes / chunk_bytes > usual_chunks) chunk_bytes *= 2;
  return chunk_bytes;
}

void check_chunks(std::int64_t image_bytes, std::int64_t chunk_bytes) {
  if (image_bytes / chunk_bytes >= most_chunks)
    throw UsageError("chunks of " + std::to_string(chunk_bytes) + " bytes are too small for an image of " +
                     std::to_string(image_bytes) + ": at most " + std::to_string(most_chunks) +
                     " chunks are possible; leave out --chunk");
}

Chain parse_chain(const json::Value& value) { return read(value, chain_members, "the chain"); }
json::Value to_json(const Chain& chain) { return json::write_members(chain, chain_members); }

Prepared parse_prepared(const json::Value& value) {
  return read(value, prepared_members, "a rank's answer to the job");
}
json::Value to_json(const Prepared& prepared) { return json::write_members(prepared, prepared_members); }

Standing parse_standing(const json::Value& value) {
  return read(value, standing_members, "a rank's progress report");
}
json::Value to_json(const Standing& standing) { return json::write_members(standing, standing_members); }

}  // namespace crosscut::clone
