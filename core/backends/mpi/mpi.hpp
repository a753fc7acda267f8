#pragma once

namespace crosscut::backends::mpi {

// Runs `crosscut-core mpi-rank`, one rank under an MPI launcher. argv[0] is the command's name. Returns the
// exit status. Throws RunError if MPI cannot start, UsageError if this executable has no MPI.
int mpi_rank_main(int argc, char** argv);

}  // namespace crosscut::backends::mpi
