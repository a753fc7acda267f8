// Frames between conductor and ranks after the handshake: 32-bit payload length, 32-bit type, payload. All
// little-endian.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "session/socket.hpp"

namespace crosscut::session {

static_assert(std::endian::native == std::endian::little, "wire and store formats are little-endian");

enum class FrameType : std::uint32_t {
  // rank to conductor
  joined = 1,
  ready,
  result,
  refused,
  aborted,
  pong,
  complaint,
  standing,   // clone: progress of this rank
  committed,  // clone: the copy is in place
  part,       // samples of ranks, before those of the last frame of the same block, a `result`
  // conductor to rank
  welcome = 32,
  job,
  run,
  abort_block,
  rebuild,
  ping,
  end_job,
  end,
};

struct Frame {
  FrameType type{};
  std::vector<std::byte> payload;
};

// Largest payload of a frame. A larger one is rejected before memory is allocated for it.
inline constexpr std::uint32_t most_frame_bytes = 256u << 20;

void send_frame(int fd, FrameType type, std::span<const std::byte> payload, Deadline deadline);
Frame receive_frame(int fd, Deadline deadline, std::uint32_t limit = most_frame_bytes);

// Assembles frames from the bytes that arrive, without blocking.
class FrameReader {
 public:
  // Returns the next frame once it is complete, nullopt until then. Throws ConnectionLost, and RunError if
  // the frame is longer than `limit` bytes.
  std::optional<Frame> read(int fd, std::uint32_t limit = most_frame_bytes);
  bool midway() const { return have_ > 0; }  // part of a frame has arrived

 private:
  std::array<std::uint32_t, 2> head_{};
  std::vector<std::byte> payload_;
  std::size_t have_ = 0;  // bytes received of head and payload
};

// Types sent as their raw bytes. Structures are excluded, because their padding would be sent too.
template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

// A string or vector of such values: sent as its number of items (64 bits), then their bytes.
template <class C>
concept PlainList = Plain<typename C::value_type> && requires(C list) {
  list.data();
};

class Writer {
 public:
  template <Plain T>
  Writer& add(T value) {
    return raw(std::as_bytes(std::span(&value, 1)));
  }
  Writer& add(const PlainList auto& list) {
    add(static_cast<std::uint64_t>(list.size()));
    return raw(std::as_bytes(std::span(list)));
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  Writer& raw(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  std::vector<std::byte> bytes_;
};

inline constexpr const char* cut_short =
    "a message ended early; install the same version of crosscut on every node";

// Reads what a Writer wrote. Throws RunError if the payload ends too early; the caller checks at_end().
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <Plain T>
  void get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = get<std::uint8_t>() != 0;
    } else {
      copy(std::as_writable_bytes(std::span(&value, 1)));
    }
  }
  void get(PlainList auto& list) {
    list.resize(count(sizeof list[0]));
    copy(std::as_writable_bytes(std::span(list)));
  }
  template <class T>
  T get() {
    T value;
    get(value);
    return value;
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::size_t count(std::size_t item_bytes) {
    const auto items = get<std::uint64_t>();
    if (items > bytes_.size() / item_bytes) throw RunError(cut_short);
    return static_cast<std::size_t>(items);
  }
  void copy(std::span<std::byte> to) {
    if (to.size() > bytes_.size()) throw RunError(cut_short);
    if (!to.empty()) std::memcpy(to.data(), bytes_.data(), to.size());
    bytes_ = bytes_.subspan(to.size());
  }
  std::span<const std::byte> bytes_;
};

}  // namespace crosscut::session
