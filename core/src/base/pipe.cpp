#include "base/pipe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace crosscut {

Pipe make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) throw_errno("making a pipe");
  return {Fd(fds[0]), Fd(fds[1])};
}

void make_non_blocking(const Fd& fd) {
  if (::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK) != 0)
    throw_errno("making a pipe non-blocking");
}

}  // namespace crosscut
