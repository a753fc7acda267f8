// A NAS benchmark as a program.
#pragma once

#include "program/application.hpp"

namespace crosscut::npb {

std::unique_ptr<program::Application> program_of(const Benchmark& benchmark);

}  // namespace crosscut::npb
