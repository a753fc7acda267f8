#include "session/wire.hpp"

#include <algorithm>
#include <array>

namespace crosscut::session {

void send_frame(int fd, FrameType type, std::span<const std::byte> payload, Deadline deadline) {
  std::array<std::uint32_t, 2> head{static_cast<std::uint32_t>(payload.size()),
                                    static_cast<std::uint32_t>(type)};
  if (payload.size() > most_frame_bytes)
    throw RunError("a frame of " + std::to_string(payload.size()) + " bytes is too long");
  // Short frames take one call: a header sent alone would wait for the other end's delayed acknowledgement.
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
  std::array<std::uint32_t, 2> head;
  receive_all(fd, std::as_writable_bytes(std::span(head)), deadline);
  if (head[0] > limit)
    throw RunError("a frame claims " + std::to_string(head[0]) + " bytes, more than " +
                   std::to_string(limit));
  Frame frame{static_cast<FrameType>(head[1]), {}};
  // The payload grows as bytes arrive, so that a claimed length alone takes no memory.
  constexpr std::size_t step = 1 << 20;
  while (frame.payload.size() < head[0]) {
    const auto have = frame.payload.size();
    frame.payload.resize(std::min<std::size_t>(head[0], have + step));
    receive_all(fd, std::span(frame.payload).subspan(have), deadline);
  }
  return frame;
}

}  // namespace crosscut::session
