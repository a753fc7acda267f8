// A pipe whose ends are owned and closed on exec.
#pragma once

#include "base/fd.hpp"

namespace crosscut {

struct Pipe {
  Fd read, write;
};

Pipe make_pipe();  // throws RunError
void make_non_blocking(const Fd& fd);

}  // namespace crosscut
