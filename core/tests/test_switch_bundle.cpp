// Splitting and joining TCP segments: bytes, headers and checksums, compared with a sender that does it
// itself.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.hpp"
#include "tests/check.hpp"
#include "user_switch/bundle.hpp"

namespace {

using namespace crosscut;
using namespace crosscut::user_switch;

using Bytes = std::vector<std::byte>;

struct Shape {
  bool ipv6 = false, vlan = false;
  int ip_options = 0, tcp_options = 0;  // in words of 4 bytes
  unsigned segment = 1448;
  std::size_t payload = 10'000;
  unsigned flags = 0x18;  // ACK, PSH
  unsigned identification = 0xfffe;
  std::uint32_t sequence = 0xfffffff0u;
};

void put_word(Bytes& to, std::size_t at, std::size_t value) {
  to.at(at) = static_cast<std::byte>(value >> 8);
  to.at(at + 1) = static_cast<std::byte>(value);
}
unsigned word(const Bytes& of, std::size_t at) {
  return std::to_integer<unsigned>(of.at(at)) << 8 | std::to_integer<unsigned>(of.at(at + 1));
}
std::uint32_t long_word(const Bytes& of, std::size_t at) {
  return std::uint32_t{word(of, at)} << 16 | word(of, at + 2);
}

// In native byte order, like virtio_net_hdr.
void put_offload(Bytes& to, std::size_t at, std::size_t value) {
  const auto two = static_cast<std::uint16_t>(value);
  std::memcpy(to.data() + at, &two, sizeof two);
}

struct Places {
  std::size_t ip, tcp, payload;  // with the offload header
};
Places places(const Shape& shape) {
  const std::size_t ip = offload_bytes + 14 + (shape.vlan ? 4 : 0);
  const std::size_t tcp = ip + (shape.ipv6 ? 40 : 20 + 4 * static_cast<std::size_t>(shape.ip_options));
  return {ip, tcp, tcp + 20 + 4 * static_cast<std::size_t>(shape.tcp_options)};
}

// The bundle as a host writes it.
Bytes made(const Shape& shape, Random& random) {
  const auto at = places(shape);
  Bytes all(at.payload + shape.payload);
  for (auto& byte : all) byte = static_cast<std::byte>(random.below(256));
  std::fill_n(all.begin(), offload_bytes, std::byte{0});
  all[0] = std::byte{1};                                               // VIRTIO_NET_HDR_F_NEEDS_CSUM
  all[1] = std::byte{static_cast<unsigned char>(shape.ipv6 ? 4 : 1)};  // VIRTIO_NET_HDR_GSO_TCPV6, TCPV4
  put_offload(all, 2, at.payload - offload_bytes);
  put_offload(all, 4, shape.segment);
  put_offload(all, 6, at.tcp - offload_bytes);
  put_offload(all, 8, 16);
  if (shape.vlan) put_word(all, offload_bytes + 12, 0x8100);
  put_word(all, at.ip - 2, shape.ipv6 ? 0x86dd : 0x0800);
  const auto ip_bytes = all.size() - at.ip;
  if (shape.ipv6) {
    all[at.ip] = std::byte{0x60};
    put_word(all, at.ip + 4, ip_bytes - 40);
    all[at.ip + 6] = std::byte{6};
  } else {
    all[at.ip] = static_cast<std::byte>(0x40 + 5 + shape.ip_options);
    put_word(all, at.ip + 2, ip_bytes);
    put_word(all, at.ip + 4, shape.identification);
    put_word(all, at.ip + 6, 0x4000);
    all[at.ip + 9] = std::byte{6};
  }
  put_word(all, at.tcp + 4, shape.sequence >> 16);
  put_word(all, at.tcp + 6, shape.sequence & 0xffff);
  all[at.tcp + 12] = static_cast<std::byte>((5 + shape.tcp_options) << 4);
  all[at.tcp + 13] = static_cast<std::byte>(shape.flags);
  return all;
}

Bytes run_bytes(const Bundle& bundle, const Bytes& all, int first, int count) {
  const auto run = run_of(bundle, all, first, count);
  Bytes bytes(run.header.begin(), run.header.begin() + static_cast<std::ptrdiff_t>(run.header_bytes));
  bytes.insert(bytes.end(), run.payload.begin(), run.payload.end());
  return bytes;
}

// Adds the carry at once, unlike the code under test; 0xffff means correct (RFC 1071).
unsigned ones_sum(const Bytes& of, std::size_t from, std::size_t to, unsigned sum = 0) {
  for (std::size_t i = from; i < to; i += 2) {
    sum += i + 1 < to ? word(of, i) : std::to_integer<unsigned>(of[i]) << 8;
    if (sum > 0xffff) sum -= 0xffff;
  }
  return sum;
}

void check_frame(const Shape& shape, const Bytes& all, Bytes frame, int number, int frames) {
  const auto at = places(shape);
  const auto from = at.payload + static_cast<std::size_t>(number) * shape.segment;
  const auto bytes = std::min<std::size_t>(shape.segment, all.size() - from);
  REQUIRE(frame.size() == at.payload + bytes);
  CHECK(std::equal(frame.begin() + static_cast<std::ptrdiff_t>(at.payload), frame.end(),
                   all.begin() + static_cast<std::ptrdiff_t>(from)));
  CHECK_EQ(std::to_integer<int>(frame[1]), 0);  // one frame
  REQUIRE(complete_checksum(frame));
  CHECK_EQ(std::to_integer<int>(frame[0]), 0);
  const auto tcp_bytes = static_cast<unsigned>(frame.size() - at.tcp);
  const auto addresses = shape.ipv6 ? std::pair{at.ip + 8, at.ip + 40} : std::pair{at.ip + 12, at.ip + 20};
  const auto pseudo = ones_sum(frame, addresses.first, addresses.second, 6 + tcp_bytes);
  CHECK_EQ(ones_sum(frame, at.tcp, frame.size(), pseudo), 0xffffu);
  if (shape.ipv6) {
    CHECK_EQ(word(frame, at.ip + 4), frame.size() - at.ip - 40);
  } else {
    CHECK_EQ(ones_sum(frame, at.ip, at.tcp), 0xffffu);
    CHECK_EQ(word(frame, at.ip + 2), frame.size() - at.ip);
    CHECK_EQ(word(frame, at.ip + 4), (shape.identification + static_cast<unsigned>(number)) & 0xffffu);
  }
  CHECK_EQ(long_word(frame, at.tcp + 4), shape.sequence + static_cast<std::uint32_t>(number) * shape.segment);
  unsigned flags = shape.flags;
  if (number > 0) flags &= ~0x80u;           // CWR (RFC 3168, 6.1.2)
  if (number + 1 < frames) flags &= ~0x09u;  // FIN, PSH
  CHECK_EQ(std::to_integer<unsigned>(frame[at.tcp + 13]), flags);
}

Shape any_shape(Random& random) {
  Shape shape;
  shape.ipv6 = random.below(2) == 0;
  shape.vlan = random.below(4) == 0;
  shape.ip_options = shape.ipv6 ? 0 : static_cast<int>(random.below(11));
  shape.tcp_options = static_cast<int>(random.below(11));
  shape.segment = 1 + static_cast<unsigned>(random.below(random.below(2) == 0 ? 1460 : 40));
  shape.payload = 1 + random.below(std::uint64_t{shape.segment} * bundle_frames_max);
  shape.flags = static_cast<unsigned>(random.below(256));
  shape.identification = static_cast<unsigned>(random.below(0x10000));
  shape.sequence = static_cast<std::uint32_t>(random.next());
  return shape;
}

TEST(every_frame_of_a_bundle_equals_the_one_that_its_sender_would_make) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const auto shape = any_shape(random);
    const auto all = made(shape, random);
    const auto bundle = read_bundle(all);
    REQUIRE(bundle.has_value());
    const int frames = static_cast<int>((shape.payload + shape.segment - 1) / shape.segment);
    CHECK_EQ(int{bundle->frames}, frames);
    for (int number = 0; number < frames; ++number) {
      const auto frame = run_bytes(*bundle, all, number, 1);
      CHECK_EQ(static_cast<std::size_t>(bundle->frame_bytes(number)) + offload_bytes, frame.size());
      check_frame(shape, all, frame, number, frames);
    }
  }
}

TEST(pieces_of_any_length_taken_apart_again_are_the_same_frames) {
  Random random(2);
  for (int i = 0; i < 200; ++i) {
    const auto shape = any_shape(random);
    const auto all = made(shape, random);
    const auto bundle = read_bundle(all);
    REQUIRE(bundle.has_value());
    for (int first = 0; first < bundle->frames;) {
      const int count =
          1 + static_cast<int>(random.below(static_cast<std::uint64_t>(bundle->frames - first)));
      const auto piece = run_bytes(*bundle, all, first, count);
      const auto again = read_bundle(piece);
      REQUIRE(again.has_value());
      CHECK_EQ(int{again->frames}, count);
      for (int k = 0; k < count && count > 1; ++k)
        CHECK(run_bytes(*again, piece, k, 1) == run_bytes(*bundle, all, first + k, 1));
      if (count == 1) CHECK(piece == run_bytes(*bundle, all, first, 1));
      first += count;
    }
  }
}

TEST(a_single_frame_is_unchanged_whatever_it_carries) {
  Bytes frame(offload_bytes + 60, std::byte{0x5a});
  std::fill_n(frame.begin(), offload_bytes, std::byte{0});
  const auto bundle = read_bundle(frame);
  REQUIRE(bundle.has_value());
  CHECK_EQ(int{bundle->frames}, 1);
  CHECK_EQ(bundle->frame_bytes(0), 60);
  CHECK_EQ(int{bundle->header_bytes}, 0);
}

// Each of these would make the switch read or write out of bounds.
TEST(a_contradictory_header_is_not_a_bundle) {
  Random random(3);
  const Shape shape;
  const auto good = made(shape, random);
  const auto at = places(shape);
  REQUIRE(read_bundle(good).has_value());
  const auto refuses = [&](auto change) {
    auto bad = good;
    change(bad);
    return !read_bundle(bad).has_value();
  };
  CHECK(refuses([](Bytes& b) { b[0] = std::byte{0}; }));                // checksums complete
  CHECK(refuses([](Bytes& b) { b[1] = std::byte{3}; }));                // UDP
  CHECK(refuses([](Bytes& b) { b[1] = std::byte{4}; }));                // IPv6
  CHECK(refuses([](Bytes& b) { put_offload(b, 4, 0); }));               // no length
  CHECK(refuses([](Bytes& b) { put_offload(b, 4, 10); }));              // too many frames
  CHECK(refuses([](Bytes& b) { put_offload(b, 6, 0xffff); }));          // checksum elsewhere
  CHECK(refuses([](Bytes& b) { put_offload(b, 8, 6); }));               // UDP's checksum
  CHECK(refuses([&](Bytes& b) { b[at.ip] = std::byte{0x4f}; }));        // another header length
  CHECK(refuses([&](Bytes& b) { b[at.ip + 9] = std::byte{17}; }));      // UDP
  CHECK(refuses([&](Bytes& b) { b[at.ip + 7] = std::byte{1}; }));       // a fragment
  CHECK(refuses([&](Bytes& b) { b[at.tcp + 12] = std::byte{0x10}; }));  // shorter than TCP
  CHECK(refuses([&](Bytes& b) { b.resize(at.payload); }));              // no payload
  CHECK(refuses([&](Bytes& b) { b.resize(at.tcp + 4); }));
  CHECK(refuses([](Bytes& b) { b.resize(offload_bytes + 13); }));
  CHECK(refuses([](Bytes& b) { b.clear(); }));
}

TEST(a_checksum_of_bytes_that_are_not_there_is_not_completed) {
  Bytes frame(offload_bytes + 20);
  frame[0] = std::byte{1};
  put_offload(frame, 6, 14);
  put_offload(frame, 8, 5);
  CHECK(!complete_checksum(frame));
  put_offload(frame, 8, 4);
  CHECK(complete_checksum(frame));
}

}  // namespace
