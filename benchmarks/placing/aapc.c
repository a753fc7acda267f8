// All-to-all in phases (AAPC): in phase s every rank sends to rank + s and receives from rank - s.
// Usage: aapc BYTES REPETITIONS
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int bytes = argc > 1 ? atoi(argv[1]) : 1, repetitions = argc > 2 ? atoi(argv[2]) : 1;
  char* out = calloc(2, (size_t)bytes);
  for (int i = 0; i < repetitions; ++i)
    for (int s = 1; s < ranks; ++s)
      MPI_Sendrecv(out, bytes, MPI_BYTE, (rank + s) % ranks, 0, out + bytes, bytes, MPI_BYTE,
                   (rank - s + ranks) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  free(out);
  return MPI_Finalize();
}
