// Measures what a message of 8 bytes costs between two ranks, in seconds: half a round trip, MPI_Send, and
// MPI_Recv of a message that has already arrived. Prints the medians, in this order.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 8, TIMES = 201, TURNS = 20 };
static const double computing_seconds = 3e-3;  // longer than a message travels

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* seconds) {
  qsort(seconds, TIMES, sizeof *seconds, compare);
  return seconds[TIMES / 2];
}

static void compute(void) {
  const double end = MPI_Wtime() + computing_seconds;
  while (MPI_Wtime() < end) {
  }
}

int main(int argc, char** argv) {
  static double trip[TIMES], sent[TIMES], received[TIMES];
  char message[BYTES] = {0};
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < TIMES; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int turn = 0; turn < 2 * TURNS; ++turn) {
      if (turn % 2 == rank)
        MPI_Send(message, BYTES, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
      else
        MPI_Recv(message, BYTES, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    trip[i] = (MPI_Wtime() - begin) / (2 * TURNS);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    MPI_Send(message, BYTES, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
    sent[i] = MPI_Wtime() - begin;
    compute();
    begin = MPI_Wtime();
    MPI_Recv(message, BYTES, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    received[i] = MPI_Wtime() - begin;
  }
  if (rank == 0) printf("%.9f %.9f %.9f\n", median(trip), median(sent), median(received));
  MPI_Finalize();
  return 0;
}
