#pragma once

namespace crosscut::backends::mpi {

// `crosscut-core mpi-rank`: one rank under an MPI launcher. argv[0] is the command's name; returns the exit
// status or throws.
int mpi_rank_main(int argc, char** argv);

}  // namespace crosscut::backends::mpi
