// Memory for the bundles in flight. A slot holds the bundle of one read from a host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "user_switch/bundle.hpp"
#include "user_switch/frame_model.hpp"
#include "user_switch/outbox.hpp"

namespace crosscut::user_switch {

// The model's handle for one frame of a bundle.
inline Handle handle_of(BundleId bundle, int number) {
  return bundle * bundle_frames_max + static_cast<Handle>(number);
}
inline BundleId bundle_of(Handle handle) { return handle / bundle_frames_max; }
inline std::int32_t number_of(Handle handle) { return static_cast<std::int32_t>(handle % bundle_frames_max); }

class FramePool {
 public:
  FramePool(std::size_t slot_bytes, std::size_t slots_max) : slot_bytes_(slot_bytes), slots_max_(slots_max) {}

  bool is_full() const { return free_.empty() && slots_.size() == slots_max_; }
  // Takes a slot; the pool must not be full.
  BundleId take() {
    if (free_.empty()) grow();
    const auto id = free_.back();
    free_.pop_back();
    return id;
  }
  void give_back(BundleId id) { free_.push_back(id); }

  struct Slot {
    std::byte* bytes = nullptr;
    std::uint32_t used = 0;
    std::uint32_t destination = 0;  // index of the TAP
    Bundle bundle{};
  };
  Slot& operator[](BundleId id) { return slots_[id]; }
  std::span<std::byte> room(BundleId id) { return {slots_[id].bytes, slot_bytes_}; }
  // Returns what was read: offload header and frame.
  std::span<const std::byte> read(BundleId id) const { return {slots_[id].bytes, slots_[id].used}; }

 private:
  void grow() {
    constexpr std::size_t at_once = 64;
    const auto more = std::min(at_once, slots_max_ - slots_.size());
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(more * slot_bytes_));
    for (std::size_t i = 0; i < more; ++i) {
      free_.push_back(static_cast<BundleId>(slots_.size()));
      slots_.push_back({.bytes = blocks_.back().get() + i * slot_bytes_});
    }
  }

  std::size_t slot_bytes_, slots_max_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::vector<Slot> slots_;
  std::vector<BundleId> free_;
};

}  // namespace crosscut::user_switch
