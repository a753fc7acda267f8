// The commands behind main(): argv[0] is the command's name. Each returns the exit status or throws.
#pragma once

namespace crosscut {

int list_main(int argc, char** argv);
int network_main(int argc, char** argv);
int run_main(int argc, char** argv);
int coordinates_main(int argc, char** argv);
int replay_main(int argc, char** argv);
int mpi_rank_main(int argc, char** argv);  // backends/mpi.cpp

}  // namespace crosscut
