/* One-sided operations, neighbours on a grid and on a graph, an intercommunicator. */
#include <mpi.h>

static double memory[64], out[64], in[64];

static void one_sided(int rank, int ranks) {
  MPI_Win window;
  const int target = (rank + 2) % ranks;
  const double one = 1;
  MPI_Win_create(memory, sizeof memory, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(out, 4, MPI_DOUBLE, target, 0, 4, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
  MPI_Get(in, 5, MPI_DOUBLE, target, 8, 5, MPI_DOUBLE, window);
  MPI_Accumulate(out, 6, MPI_DOUBLE, target, 16, 6, MPI_DOUBLE, MPI_SUM, window);
  MPI_Put(out, 4, MPI_DOUBLE, MPI_PROC_NULL, 0, 4, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
  MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
  MPI_Fetch_and_op(&one, in, MPI_DOUBLE, target, 24, MPI_SUM, window);
  MPI_Win_unlock(target, window);
  MPI_Win_free(&window);
}

static void neighbours(int rank, int ranks) {
  MPI_Comm grid, graph;
  const int open_end = 0;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &open_end, 0, &grid);
  MPI_Neighbor_alltoall(out, 2, MPI_DOUBLE, in, 2, MPI_DOUBLE, grid);
  MPI_Comm_free(&grid);
  const int source = (rank + ranks - 1) % ranks, destination = (rank + 1) % ranks;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &source, MPI_UNWEIGHTED, 1, &destination, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  MPI_Neighbor_allgather(out, 3, MPI_DOUBLE, in, 3, MPI_DOUBLE, graph);
  MPI_Comm_free(&graph);
}

/* Even and odd ranks: each sends 7 numbers to its counterpart on the other side. */
static void across(int rank, int ranks) {
  MPI_Comm half, both;
  int own;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &both);
  MPI_Comm_rank(both, &own);
  if (ranks % 2 == 0)
    MPI_Sendrecv(out, 7, MPI_DOUBLE, own, 0, in, 7, MPI_DOUBLE, own, 0, both, MPI_STATUS_IGNORE);
  MPI_Barrier(both);
  MPI_Bcast(out, 1, MPI_DOUBLE, rank % 2 == 1 ? 0 : own == 0 ? MPI_ROOT : MPI_PROC_NULL, both);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  one_sided(rank, ranks);
  neighbours(rank, ranks);
  across(rank, ranks);
  MPI_Finalize();
  return 0;
}
