// The last words of a rank, for the process that forked it: a page of memory that both map. They need neither
// a connection nor a reader in time, so they arrive however the network failed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace crosscut::launch {

class LastWords {
 public:
  // Reports go through a pipe that may not be drained yet, so many ranks' words must fit in it.
  static constexpr std::size_t bytes_max = 500;

  LastWords();                            // before the fork; throws RunError
  void say(std::string_view text) const;  // called by the rank; cut at bytes_max
  std::string heard() const;              // by its launcher, after its end: one printable line; empty: none

 private:
  std::shared_ptr<char[]> page_;  // of bytes_max
};

}  // namespace crosscut::launch
