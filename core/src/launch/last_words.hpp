// The last words of a rank, for the process that forked it: a page of memory that both map. They need neither
// a connection nor a reader in time, so they arrive however the network failed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace crosscut::launch {

class LastWords {
 public:
  // Reports go through a pipe that may not be drained yet, so many ranks' words must fit in it.
  static constexpr std::size_t bytes_max = 500;

  LastWords();  // before the fork; throws RunError
  LastWords(LastWords&& other) noexcept : page_(std::exchange(other.page_, {})) {}
  LastWords& operator=(LastWords&& other) noexcept {
    std::swap(page_, other.page_);
    return *this;
  }
  ~LastWords();

  void say(std::string_view text) const;  // called by the rank; cut at bytes_max
  std::string heard() const;              // by its launcher, after its end: one printable line; empty: none

 private:
  std::span<char> page_;
};

}  // namespace crosscut::launch
