#include "session/wire.hpp"

#include <algorithm>
#include <utility>

namespace crosscut::session {

void send_frame(int fd, FrameType type, std::span<const std::byte> payload, Deadline deadline) {
  std::array<std::uint32_t, 2> head{static_cast<std::uint32_t>(payload.size()),
                                    static_cast<std::uint32_t>(type)};
  if (payload.size() > most_frame_bytes)
    throw RunError("a frame of " + std::to_string(payload.size()) + " bytes is too long");
  // Send a short frame in one call, so that its header does not travel in a packet of its own.
  if (payload.size() <= 1024) {
    std::array<std::byte, sizeof head + 1024> whole;
    std::memcpy(whole.data(), head.data(), sizeof head);
    std::copy(payload.begin(), payload.end(), whole.begin() + sizeof head);
    send_all(fd, std::span(whole).first(sizeof head + payload.size()), deadline);
    return;
  }
  send_all(fd, std::as_bytes(std::span(head)), deadline);
  send_all(fd, payload, deadline);
}

Frame receive_frame(int fd, Deadline deadline, std::uint32_t limit) {
  FrameReader reader;
  while (true) {
    if (auto frame = reader.read(fd, limit)) return std::move(*frame);
    await_some(fd, deadline);
  }
}

std::optional<Frame> FrameReader::read(int fd, std::uint32_t limit) {
  // Grow the payload as bytes arrive, so that a false length cannot exhaust memory.
  constexpr std::size_t step = 1 << 20;
  while (true) {
    std::span<std::byte> missing;
    if (have_ < sizeof head_) {
      missing = std::as_writable_bytes(std::span(head_)).subspan(have_);
    } else {
      if (head_[0] > limit)
        throw RunError("a frame claims " + std::to_string(head_[0]) + " bytes, more than " +
                       std::to_string(limit));
      const auto have = have_ - sizeof head_;
      if (have == head_[0]) {
        have_ = 0;
        return Frame{static_cast<FrameType>(head_[1]), std::exchange(payload_, {})};
      }
      if (payload_.size() == have) payload_.resize(std::min<std::size_t>(head_[0], have + step));
      missing = std::span(payload_).subspan(have);
    }
    const auto got = receive_some(fd, missing);
    if (got == 0) return std::nullopt;
    have_ += got;
  }
}

}  // namespace crosscut::session
