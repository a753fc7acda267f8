// Datagrams from anybody: pieces in any order, of any length, and of messages that nobody awaits.
#include <memory>

#include "backends/udp/inbox.hpp"
#include "backends/udp/wire.hpp"
#include "tests/fuzz.hpp"

using namespace crosscut;
using namespace crosscut::backends::udp;
using namespace crosscut::program;
using namespace crosscut::tests;

namespace {

constexpr OpIndex receives = 4;

struct Rig {
  UdpInbox inbox{{.reordering_nanoseconds = 10, .grace_nanoseconds = 100, .early_bytes = 4000}};
  std::array<std::uint32_t, 2> lanes{};
  // Buffers of exactly each length, so that the sanitizer detects reads beyond them.
  std::array<std::unique_ptr<std::byte[]>, receives> memory;
  std::array<std::int64_t, receives> bytes{};
  std::array<int, receives> posted{}, completed{};

  explicit Rig(FuzzedDataProvider& input) {
    for (auto& lane : lanes)
      lane = inbox.add_lane(input.ConsumeIntegralInRange<std::size_t>(least_chunk_bytes, 200));
    std::vector<UdpInbox::Receive> list;
    for (OpIndex op = 0; op < receives; ++op) {
      const auto i = static_cast<std::size_t>(op);
      bytes[i] = input.ConsumeIntegralInRange<std::int64_t>(0, 700);
      memory[i] = std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes[i]));
      list.push_back({op, lanes[i % 2], bytes[i]});
    }
    inbox.start_phase(receives, list);
  }
  void take_completed() {
    for (const OpIndex op : inbox.completed()) {
      const auto i = static_cast<std::size_t>(op);
      hold(++completed[i] <= posted[i], "a receive ends once");
      hold(inbox.lost_bytes(op) >= 0 && inbox.lost_bytes(op) <= bytes[i] * posted[i],
           "losses are within what was asked");
    }
    inbox.completed().clear();
  }
};

void one_event(Rig& rig, FuzzedDataProvider& input, std::int64_t& now) {
  now += input.ConsumeIntegralInRange<std::int64_t>(0, 60);
  const std::uint32_t lane = rig.lanes[input.ConsumeIntegralInRange<std::size_t>(0, 1)];
  const auto message = input.ConsumeBool() ? input.ConsumeIntegralInRange<std::uint64_t>(0, 6)
                                           : input.ConsumeIntegral<std::uint64_t>();
  switch (input.ConsumeIntegralInRange(0, 4)) {
    case 0: {
      const auto op = input.ConsumeIntegralInRange<OpIndex>(0, receives - 1);
      const auto i = static_cast<std::size_t>(op);
      if (rig.posted[i] != rig.completed[i]) return;  // a receive is posted again when it has ended
      ++rig.posted[i];
      return rig.inbox.post(op, rig.memory[i].get(), now);
    }
    case 1:
      return rig.inbox.handed_over(
          lane, message, input.ConsumeBool() ? UdpInbox::Said::in_band : UdpInbox::Said::out_of_band, now);
    case 2:
      return rig.inbox.give_up_overdue(now);
    default: {
      const auto chunk = input.ConsumeBool() ? input.ConsumeIntegralInRange<std::uint32_t>(0, 12)
                                             : input.ConsumeIntegral<std::uint32_t>();
      const auto payload =
          input.ConsumeBytes<std::uint8_t>(input.ConsumeIntegralInRange<std::size_t>(0, 210));
      rig.inbox.take(lane, message, chunk, std::as_bytes(std::span(payload)), now);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  if (input.ConsumeBool()) {
    Introduction said;
    std::array<std::uint8_t, sizeof said> bytes{};
    input.ConsumeData(bytes.data(), bytes.size());
    std::memcpy(static_cast<void*>(&said), bytes.data(), bytes.size());
    accepts([&] {
      check_introduction(said, 3);
      hold(chunks_of(1 << 20, said.chunk_bytes) >= 1, "pieces can be counted");
    });
  }
  Rig rig(input);
  std::int64_t now = 0;
  while (input.remaining_bytes() > 0) {
    one_event(rig, input, now);
    rig.take_completed();
  }
  return 0;
}
