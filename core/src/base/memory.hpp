// Owned memory: page-aligned and populated on allocation, or a library's, released by a given function.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/fd.hpp"

namespace crosscut {

class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes) {
    if (bytes == 0) return;
    void* at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) throw_errno("allocate " + std::to_string(bytes) + " bytes of memory");
    *this = Memory({static_cast<std::byte*>(at), bytes}, [at, bytes] { ::munmap(at, bytes); });
  }
  // `release` is called once and must not throw. The allocator behind it must outlive this object.
  Memory(std::span<std::byte> memory, std::function<void()> release)
      : memory_(memory), owner_(memory.data(), [release = std::move(release)](void*) { release(); }) {}
  Memory(Memory&&) = default;
  Memory& operator=(Memory&&) = default;
  std::span<std::byte> span() const { return memory_; }

 private:
  std::span<std::byte> memory_;
  std::shared_ptr<void> owner_;  // never shared, but a unique_ptr would not release a null pointer
};

}  // namespace crosscut
