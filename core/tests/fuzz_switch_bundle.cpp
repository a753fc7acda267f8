// A host may write any offload header before any bytes. A bundle must be split into frames that have all of
// its payload once, and nothing else.
#include <span>
#include <vector>

#include "tests/fuzz.hpp"
#include "user_switch/bundle.hpp"
#include "user_switch/ethernet.hpp"

using namespace crosscut;
using namespace crosscut::tests;
using namespace crosscut::user_switch;

namespace {

std::size_t check_run(const Bundle& bundle, std::span<const std::byte> all, int first, int count) {
  const auto run = run_of(bundle, all, first, count);
  hold(run.header_bytes <= run.header.size(), "a header has its room");
  hold(run.payload.data() >= all.data() && run.payload.data() + run.payload.size() <= all.data() + all.size(),
       "the payload is of the bundle");
  std::vector<std::byte> frame(run.header.begin(), run.header.begin() + static_cast<long>(run.header_bytes));
  frame.insert(frame.end(), run.payload.begin(), run.payload.end());
  const auto again = read_bundle(frame);
  hold(again.has_value() && again->frames == count, "a part of a bundle is one of so many frames");
  hold(complete_checksum(frame), "its checksum has a place");
  return run.payload.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of exactly this length, so that the sanitizer detects reads beyond it.
  const std::vector<std::byte> copy(reinterpret_cast<const std::byte*>(data),
                                    reinterpret_cast<const std::byte*>(data) + size);
  const std::span<const std::byte> all(copy);
  if (all.size() >= offload_bytes) {
    const auto frame = all.subspan(offload_bytes);
    static_cast<void>(flow_of(frame));
    if (const auto asked = asked_for(frame)) hold(arp_answer(frame, {}).size() == 42, "an answer is whole");
  }
  const auto bundle = read_bundle(all);
  if (!bundle) return 0;
  hold(bundle->frames >= 1 && bundle->frames <= bundle_frames_max,
       "a bundle has some frames, and not too many");
  if (bundle->header_bytes == 0) return 0;
  std::size_t payload = 0;
  std::int64_t on_wire = 0;
  for (int i = 0; i < bundle->frames; ++i) {
    payload += check_run(*bundle, all, i, 1);
    on_wire += bundle->frame_bytes(i);
  }
  const auto headers = bundle->header_bytes * std::size_t{bundle->frames};
  hold(payload + bundle->header_bytes + offload_bytes == all.size(), "no byte is lost or doubled");
  hold(on_wire == static_cast<std::int64_t>(payload + headers), "frames are as long as they say");
  check_run(*bundle, all, 0, bundle->frames);
  return 0;
}
