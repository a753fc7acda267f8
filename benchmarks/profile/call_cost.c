/* Times calls that do next to nothing, so that the profiler's share is largest. Prints a line per call: name
 * and nanoseconds. */
#include <mpi.h>
#include <stdio.h>

enum { CALLS = 1000000, FEW = 200000, RANKS_BYTES = 8 };

static char out[RANKS_BYTES], in[RANKS_BYTES];
static MPI_Comm copy;

static void nobody(void) { MPI_Send(out, RANKS_BYTES, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD); }

static void probe(void) {
  int found;
  MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

static void exchange(MPI_Comm comm) {
  MPI_Request request;
  MPI_Irecv(in, RANKS_BYTES, MPI_CHAR, 0, 0, comm, &request);
  MPI_Send(out, RANKS_BYTES, MPI_CHAR, 0, 0, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void to_itself(void) { exchange(MPI_COMM_WORLD); }
static void on_a_copy(void) { exchange(copy); }
static void reduction(void) { MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

static void timed(const char* name, void (*body)(void), int times, int calls_each) {
  for (int i = 0; i < times / 10; i++) body();
  const double begin = MPI_Wtime();
  for (int i = 0; i < times; i++) body();
  printf("%s\t%.3f\n", name, (MPI_Wtime() - begin) * 1e9 / times / calls_each);
}

int main(int argc, char** argv) {
  int provided;
  const int level = argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, level, &provided);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  timed("MPI_Send to MPI_PROC_NULL", nobody, CALLS, 1);
  timed("MPI_Iprobe that finds nothing", probe, FEW, 1);
  timed("MPI_Irecv, MPI_Send, MPI_Wait with oneself, a call", to_itself, FEW, 3);
  timed("the same on a copied communicator, a call", on_a_copy, FEW, 3);
  timed("MPI_Allreduce alone", reduction, FEW, 1);
  MPI_Comm_free(&copy);
  MPI_Finalize();
  return 0;
}
