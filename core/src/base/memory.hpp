// Owned memory: either page-aligned and touched on allocation, or a library's, released by its own call.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <functional>
#include <span>

#include "base/fd.hpp"

namespace crosscut {

class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    void* at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) throw_errno("taking " + std::to_string(bytes) + " bytes of memory");
    at_ = static_cast<std::byte*>(at);
  }
  // `release` is called once, before the owner of the allocator is destroyed; it must not throw.
  Memory(std::span<std::byte> memory, std::function<void()> release)
      : at_(memory.data()), bytes_(memory.size()), release_(std::move(release)) {}
  Memory(Memory&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)),
        bytes_(std::exchange(other.bytes_, std::size_t{0})),
        release_(std::exchange(other.release_, nullptr)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Memory() {
    if (release_) {
      release_();
    } else if (at_ != nullptr) {
      ::munmap(at_, bytes_);
    }
  }
  std::span<std::byte> span() const { return {at_, bytes_}; }

 private:
  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
  std::function<void()> release_;  // empty: munmap
};

}  // namespace crosscut
