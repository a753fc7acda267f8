// What a rank says before it ends, for the process that forked it: a page of memory that both map. It needs
// neither a connection nor a reader in time, so what the rank saw is known however its network failed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace crosscut::launch {

class LastWords {
 public:
  // Reports travel through a pipe that nobody may have emptied: many ranks' words must fit into it.
  static constexpr std::size_t bytes_max = 500;

  LastWords();  // before the fork; throws RunError
  LastWords(LastWords&& other) noexcept : page_(std::exchange(other.page_, {})) {}
  LastWords& operator=(LastWords&& other) noexcept {
    std::swap(page_, other.page_);
    return *this;
  }
  ~LastWords();

  void say(std::string_view text) const;  // the rank; cut where it is longer than bytes_max
  std::string heard() const;  // its launcher, after its end: one line of printable text; empty: nothing

 private:
  std::span<char> page_;
};

}  // namespace crosscut::launch
