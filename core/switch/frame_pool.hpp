// Memory for the frames that are under way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "frame_model.hpp"

namespace crosscut::frames {

class FramePool {
 public:
  FramePool(std::size_t slot_bytes, std::size_t slots_max) : slot_bytes_(slot_bytes), slots_max_(slots_max) {}

  bool is_full() const { return free_.empty() && slots_.size() == slots_max_; }
  // Only where it is not full.
  Handle take() {
    if (free_.empty()) grow();
    const auto handle = free_.back();
    free_.pop_back();
    return handle;
  }
  void give_back(Handle handle) { free_.push_back(handle); }

  struct Slot {
    std::byte* bytes = nullptr;
    std::uint32_t used = 0;
    std::uint32_t destination = 0;  // TAP
  };
  Slot& operator[](Handle handle) { return slots_[handle]; }
  std::span<std::byte> room(Handle handle) { return {slots_[handle].bytes, slot_bytes_}; }
  std::span<const std::byte> frame(Handle handle) const {
    return {slots_[handle].bytes, slots_[handle].used};
  }

 private:
  void grow() {
    constexpr std::size_t at_once = 256;
    const auto more = std::min(at_once, slots_max_ - slots_.size());
    blocks_.push_back(std::make_unique<std::byte[]>(more * slot_bytes_));
    for (std::size_t i = 0; i < more; ++i) {
      free_.push_back(static_cast<Handle>(slots_.size()));
      slots_.push_back({.bytes = blocks_.back().get() + i * slot_bytes_});
    }
  }

  std::size_t slot_bytes_, slots_max_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::vector<Slot> slots_;
  std::vector<Handle> free_;
};

}  // namespace crosscut::frames
