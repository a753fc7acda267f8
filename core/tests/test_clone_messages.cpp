// Messages between user, conductor and ranks about a copy are understood, or refused by name.
#include "base/error.hpp"
#include "clone/clone_messages.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::clone;

namespace {

CloneJob job_from(const char* text) { return parse_clone_job(json::parse(text)); }
Chain chain_from(const char* text) { return parse_chain(json::parse(text)); }
Standing standing_from(const char* text) { return parse_standing(json::parse(text)); }

}  // namespace

TEST(a_job_needs_a_source_and_a_target_and_replaces_nothing_by_itself) {
  const CloneJob job = job_from(R"({"source": "/a", "target": "/b"})");
  CHECK(!job.overwrite && !job.resume);
  CHECK_EQ(job.chunk_bytes, 0);  // the conductor chooses
  CHECK_THROWS_SAYING(UsageError, "no `source`", job_from(R"({"target": "/b"})"));
  CHECK_THROWS_SAYING(UsageError, "no `target`", job_from(R"({"source": "/a"})"));
}

TEST(a_mistake_in_a_job_is_named) {
  const auto with = [](const std::string& member) {
    return parse_clone_job(json::parse(R"({"source": "/a", "target": "/b", )" + member + "}"));
  };
  CHECK_THROWS_SAYING(UsageError, "no member \"colour\"", with(R"("colour": 1)"));
  CHECK_THROWS_SAYING(UsageError, "`overwrite`", with(R"("overwrite": "yes")"));
  CHECK_THROWS_SAYING(UsageError, "`chunk_bytes`: 1 is out of range; it must be from 4096",
                      with(R"("chunk_bytes": 1)"));
  CHECK_THROWS_SAYING(UsageError, "`bytes`: -1 is out of range; it must be from 0", with(R"("bytes": -1)"));
  CHECK_THROWS_SAYING(UsageError, "`permissions`: 2541", with(R"("permissions": 2541)"));  // 04755: setuid
  CHECK_THROWS_SAYING(UsageError, "`source`: text with a NUL", job_from(R"({"source": "/a\u0000b"})"));
}

TEST(every_message_survives_transmission) {
  const CloneJob job{.source = "/a",
                     .target = "/b-{rank}",
                     .overwrite = true,
                     .confirmed = "c0de",
                     .resume = true,
                     .chunk_bytes = 4096,
                     .bytes = 12345,
                     .permissions = 0600};
  CHECK(to_json(parse_clone_job(to_json(job))) == to_json(job));
  CHECK(to_json(parse_clone_job(to_json(job))) != to_json(CloneJob{}));
  const Prepared prepared{.bytes = 1,
                          .permissions = 0640,
                          .path = "/p",
                          .identity = "8 1",
                          .place = "8 2",
                          .warning = "in use",
                          .device = "a disk",
                          .device_id = "serial 1",
                          .disk = "8:0",
                          .is_whole_disk = true};
  CHECK(to_json(parse_prepared(to_json(prepared))) == to_json(prepared));
  const Standing standing{
      .received_bytes = 1, .kept_bytes = 2, .checked_bytes = 3, .sha256 = "ab", .has_changed = true};
  CHECK(to_json(parse_standing(to_json(standing))) == to_json(standing));
  const Chain chain = parse_chain(to_json(Chain{7, {0, 2, 5}}));
  CHECK_EQ(chain.epoch, 7);
  CHECK(chain.living == (std::vector<Rank>{0, 2, 5}));
}

TEST(numbers_that_would_wrap_are_refused) {
  // 2^32 would become rank 0.
  CHECK_THROWS_SAYING(UsageError, "`living`: 4294967296",
                      chain_from(R"({"epoch": 1, "living": [4294967296]})"));
  CHECK_THROWS_SAYING(UsageError, "`living`: -1", chain_from(R"({"epoch": 1, "living": [-1]})"));
  CHECK_THROWS_SAYING(UsageError, "`epoch`", chain_from(R"({"epoch": 4294967296, "living": []})"));
  // received and kept are added.
  CHECK_THROWS_SAYING(UsageError, "`kept_bytes`", standing_from(R"({"kept_bytes": 9223372036854775807})"));
}

TEST(chunks_are_larger_for_large_images_and_never_too_many) {
  constexpr std::int64_t mebibyte = 1 << 20, tebibyte = mebibyte << 20;
  CHECK_EQ(choose_chunk_bytes(0), mebibyte);
  CHECK_EQ(choose_chunk_bytes(tebibyte / 4), mebibyte);
  CHECK_EQ(choose_chunk_bytes(tebibyte), 4 * mebibyte);
  for (std::int64_t bytes = 1; bytes <= 64 * tebibyte; bytes *= 2)
    check_chunks(bytes, choose_chunk_bytes(bytes));
  CHECK_THROWS_SAYING(UsageError, "leave out --chunk", check_chunks(tebibyte, 4096));
}
