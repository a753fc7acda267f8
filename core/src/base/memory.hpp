// Page-aligned memory, touched before it is measured with.
#pragma once

#include <sys/mman.h>

#include <cstddef>
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
  Memory(Memory&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), bytes_(std::exchange(other.bytes_, std::size_t{0})) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Memory() {
    if (at_ != nullptr) ::munmap(at_, bytes_);
  }
  std::span<std::byte> span() const { return {at_, bytes_}; }

 private:
  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace crosscut
