// Turns a failure that MPI reports into an exception. Works with any MPI, SimGrid's too.
#pragma once

#include <mpi.h>

#include <array>
#include <string>

#include "base/error.hpp"

namespace crosscut::backends::mpi {

inline void check(int code, const char* doing) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw RunError(std::string(doing) + ": " + std::string(text.data(), static_cast<std::size_t>(length)));
}

}  // namespace crosscut::backends::mpi
