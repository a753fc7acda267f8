#include "clone/clone_messages.hpp"

#include <functional>
#include <map>

#include "base/error.hpp"
#include "base/words.hpp"

namespace crosscut::clone {
namespace {

constexpr std::int64_t least_chunk_bytes = 4 << 10, most_chunk_bytes = 256 << 20;
constexpr std::int64_t usual_chunk_bytes = 1 << 20;
constexpr std::int64_t usual_chunks = 1 << 18, most_chunks = 1 << 22;
constexpr std::int64_t most_ranks = 1 << 20;
// Largest image; two such sizes can be added without overflow.
constexpr std::int64_t most_bytes = std::int64_t{1} << 62;

using Take = std::function<void(const json::Value&)>;

void take_members(const json::Value& value, const std::map<std::string_view, Take>& known,
                  std::string_view what) {
  for (const auto& [name, member] : value.object()) {
    const auto take = known.find(name);
    if (take == known.end()) throw UsageError(std::string(what) + " has no member " + shown(name));
    try {
      take->second(member);
    } catch (const UsageError& error) {
      throw UsageError(std::string(what) + ", `" + std::string(name) + "`: " + error.what());
    }
  }
}

// A NUL would silently cut a path short on its way into the operating system.
Take into(std::string& text) {
  return [&text](const json::Value& value) {
    text = value.string();
    if (text.find('\0') != std::string::npos) throw UsageError("text with a NUL character");
  };
}

Take into(bool& flag) {
  return [&flag](const json::Value& value) { flag = value.boolean(); };
}

Take into(std::int64_t& number, std::int64_t least = 0, std::int64_t most = most_bytes) {
  return [&number, least, most](const json::Value& value) {
    number = value.integer();
    if (number < least || number > most)
      throw UsageError(std::to_string(number) + " is not from " + std::to_string(least) + " to " +
                       std::to_string(most));
  };
}

}  // namespace

CloneJob parse_clone_job(const json::Value& value) {
  CloneJob job;
  std::int64_t chunk_bytes = -1;
  take_members(value,
               {{"source", into(job.source)},
                {"target", into(job.target)},
                {"overwrite", into(job.overwrite)},
                {"resume", into(job.resume)},
                {"chunk_bytes", into(chunk_bytes, least_chunk_bytes, most_chunk_bytes)},
                {"bytes", into(job.bytes)},
                {"permissions", into(job.permissions, 0, 0777)}},
               "the job");
  if (job.source.empty()) throw UsageError("the job has no `source`");
  if (job.target.empty()) throw UsageError("the job has no `target`");
  if (chunk_bytes > 0) job.chunk_bytes = chunk_bytes;
  return job;
}

json::Value to_json(const CloneJob& job) {
  json::Value value =
      json::Object{{"source", job.source}, {"target", job.target}, {"overwrite", job.overwrite},
                   {"resume", job.resume}, {"bytes", job.bytes},   {"permissions", job.permissions}};
  if (job.chunk_bytes > 0) value.set("chunk_bytes", job.chunk_bytes);
  return value;
}

std::int64_t choose_chunk_bytes(std::int64_t image_bytes) {
  std::int64_t chunk_bytes = usual_chunk_bytes;
  while (chunk_bytes < most_chunk_bytes && image_bytes / chunk_bytes > usual_chunks) chunk_bytes *= 2;
  return chunk_bytes;
}

void check_chunks(std::int64_t image_bytes, std::int64_t chunk_bytes) {
  if (image_bytes / chunk_bytes >= most_chunks)
    throw UsageError("chunks of " + std::to_string(chunk_bytes) + " bytes are too small for " +
                     std::to_string(image_bytes) + ": at most " + std::to_string(most_chunks) +
                     " are possible; leave --chunk out");
}

Chain parse_chain(const json::Value& value) {
  Chain chain;
  std::int64_t epoch = 0;
  const auto living = [&](const json::Value& list) {
    for (const json::Value& rank : list.array()) {
      std::int64_t number = 0;
      into(number, 0, most_ranks)(rank);
      chain.living.push_back(static_cast<Rank>(number));
    }
  };
  take_members(value, {{"epoch", into(epoch, 0, 1 << 30)}, {"living", living}}, "the chain");
  chain.epoch = static_cast<std::uint32_t>(epoch);
  return chain;
}

json::Value to_json(const Chain& chain) {
  return json::Object{{"epoch", static_cast<std::int64_t>(chain.epoch)},
                      {"living", json::Array(chain.living.begin(), chain.living.end())}};
}

Prepared parse_prepared(const json::Value& value) {
  Prepared prepared;
  take_members(value,
               {{"bytes", into(prepared.bytes)},
                {"permissions", into(prepared.permissions, 0, 0777)},
                {"path", into(prepared.path)},
                {"identity", into(prepared.identity)},
                {"place", into(prepared.place)},
                {"warning", into(prepared.warning)}},
               "what a rank has prepared");
  return prepared;
}

json::Value to_json(const Prepared& prepared) {
  return json::Object{{"bytes", prepared.bytes}, {"permissions", prepared.permissions},
                      {"path", prepared.path},   {"identity", prepared.identity},
                      {"place", prepared.place}, {"warning", prepared.warning}};
}

Standing parse_standing(const json::Value& value) {
  Standing standing;
  take_members(value,
               {{"received_bytes", into(standing.received_bytes)},
                {"kept_bytes", into(standing.kept_bytes)},
                {"checked_bytes", into(standing.checked_bytes)},
                {"sha256", into(standing.sha256)},
                {"has_changed", into(standing.has_changed)}},
               "what a rank says of itself");
  return standing;
}

json::Value to_json(const Standing& standing) {
  return json::Object{{"received_bytes", standing.received_bytes},
                      {"kept_bytes", standing.kept_bytes},
                      {"checked_bytes", standing.checked_bytes},
                      {"sha256", standing.sha256},
                      {"has_changed", standing.has_changed}};
}

}  // namespace crosscut::clone
