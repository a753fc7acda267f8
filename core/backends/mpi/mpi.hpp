#pragma once

#include <string_view>

namespace crosscut::backends::mpi {

// Why an executable without MPI cannot use a backend over it.
inline constexpr std::string_view without_mpi =
    "this executable is built without MPI; use crosscut-core-mpi, made by `make install` with the PyPI "
    "package "
    "mpich, or by `crosscut build-mpi`";

// Runs `crosscut-core mpi-rank`, one rank under an MPI launcher. argv[0] is the command's name. Returns the
// exit status. Throws RunError if MPI cannot start, UsageError if this executable has no MPI.
int mpi_rank_main(int argc, char** argv);

}  // namespace crosscut::backends::mpi
