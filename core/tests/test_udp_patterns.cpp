// Every pattern ends over udp on a lossy network, and the bytes that arrive are those sent.
#include <algorithm>

#include "backends/udp/transport.hpp"
#include "base/random.hpp"
#include "measure/live.hpp"
#include "tests/check.hpp"
#include "tests/pattern_cases.hpp"
#include "tests/rank_threads.hpp"

using namespace crosscut;
using namespace crosscut::backends::udp;
using namespace crosscut::measure;
using namespace crosscut::program;
using namespace crosscut::tests;

namespace {

constexpr Rank ranks = 5;
constexpr std::int64_t bytes = 6000, repetitions = 2;

// Parameters that a pattern requires, or without which it would take long.
const std::map<std::string, Given> given{
    {"pairs", {{"pairs", "0-1,2-3"}}},
    {"congestor", {{"pings", "20"}, {"messages", "5"}, {"load", "60KB"}, {"chunk", "6KB"}}}};

template <int lost_percent>
class LossyLine : public UdpTransport {
 public:
  LossyLine(const BackendContext& context, const Parameters& parameters)
      : UdpTransport(
            context, parameters,
            [random =
                 Random(static_cast<std::uint64_t>(context.rank))](std::vector<Datagram>& datagrams) mutable {
              std::erase_if(datagrams, [&](const Datagram&) { return random.below(100) < lost_percent; });
            }) {}
};

struct Total {
  std::int64_t lost = 0, wrong = 0;
};

template <class Line>
Total run_everywhere(const Pattern& pattern, const Extent& extent) {
  RankThreads rig(ranks);
  std::vector<RankSamples> samples(ranks);
  const auto phases = std::min<std::int64_t>(extent.phases, 6);
  const auto slots = static_cast<std::size_t>(extent.slots);
  rig.run([&](Rank rank) {
    LiveBackend<Line> backend(rig.context(rank),
                              RankThreads::parameters("udp", {{"datagram", "1KB"}, {"grace", "5ms"}}));
    backend.reserve(extent, {.limit_bytes = 1 << 26, .verify = true});
    samples[static_cast<std::size_t>(rank)] = backend.run({.pattern = &pattern,
                                                           .bytes = bytes,
                                                           .extent = extent,
                                                           .block = {0, 0, phases, 0, repetitions},
                                                           .iterations = extent.iterable ? 2 : 1,
                                                           .lost = {},
                                                           .verify = true,
                                                           .verify_seed = 7});
    rig.at(rank).barrier.wait();
  });
  Total total;
  for (const auto& sample : samples) {
    CHECK_EQ(sample.message_lost_bytes.size(), static_cast<std::size_t>(repetitions * phases) * slots);
    for (const auto lost : sample.message_lost_bytes) {
      CHECK(lost >= 0);
      total.lost += lost;
    }
    for (const auto seconds : sample.rank_seconds) CHECK(!(seconds < 0));
    for (const auto seconds : sample.message_seconds) CHECK(!(seconds < 0));
    total.wrong += sample.wrong_count;
  }
  return total;
}

template <class Line>
std::int64_t lost_by_all_patterns() {
  std::int64_t lost = 0;
  for (const auto* info : patterns()) {
    const auto found = given.find(std::string(info->name));
    const auto pattern = make_pattern(info->name, found == given.end() ? Given{} : found->second);
    if (!pattern->refuse(ranks).empty()) {
      tests::fail(info->name.data(), 0, pattern->refuse(ranks));
      continue;
    }
    const auto total = run_everywhere<Line>(*pattern, pattern->extent(ranks, bytes));
    if (total.wrong > 0) tests::fail(info->name.data(), 0, "wrong bytes");
    lost += total.lost;
  }
  return lost;
}

}  // namespace

TEST(every_pattern_ends_on_loopback) { lost_by_all_patterns<UdpTransport>(); }

TEST(every_pattern_ends_with_a_tenth_of_the_datagrams_lost) {
  CHECK(lost_by_all_patterns<LossyLine<10>>() > 0);
}

TEST(a_pattern_ends_with_everything_lost) {
  const auto pattern = make_pattern("aapc");
  const auto extent = pattern->extent(ranks, bytes);
  const auto total = run_everywhere<LossyLine<100>>(*pattern, extent);
  CHECK_EQ(total.lost, ranks * repetitions * extent.phases * bytes * (extent.iterable ? 2 : 1));
}
