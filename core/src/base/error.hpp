// Errors a person can act on. Their text says what is wrong, where, and what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace crosscut {

// The input (option, file, job) is wrong. Exit status 2.
class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The machine or the network failed (disk full, rank lost). Exit status 1.
class RunError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace crosscut
