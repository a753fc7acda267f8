/* Calls collectives with 8 bytes per block, on the world or (argument `part`) on all but its first rank in
 * reverse order: `blocking` ones, non-blocking (`started`), or those of MPI 4 (`persistent`). */
#include <mpi.h>
#include <string.h>

enum { MOST = 64 };

static double out[MOST], in[MOST];
static int counts[MOST], places[MOST], places_bytes[MOST];
static MPI_Datatype types[MOST];

static void blocking(MPI_Comm comm, int root) {
  MPI_Barrier(comm);
  MPI_Bcast(out, 1, MPI_DOUBLE, root, comm);
  MPI_Gather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, root, comm);
  MPI_Gatherv(out, 1, MPI_DOUBLE, in, counts, places, MPI_DOUBLE, root, comm);
  MPI_Scatter(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, root, comm);
  MPI_Scatterv(out, counts, places, MPI_DOUBLE, in, 1, MPI_DOUBLE, root, comm);
  MPI_Allgather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, comm);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_DOUBLE, comm);
  MPI_Allgatherv(out, 1, MPI_DOUBLE, in, counts, places, MPI_DOUBLE, comm);
  MPI_Alltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, comm);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_DOUBLE, comm);
  MPI_Alltoallv(out, counts, places, MPI_DOUBLE, in, counts, places, MPI_DOUBLE, comm);
  MPI_Alltoallw(out, counts, places_bytes, types, in, counts, places_bytes, types, comm);
  MPI_Reduce(out, in, 1, MPI_DOUBLE, MPI_SUM, root, comm);
  MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Reduce_scatter(out, in, counts, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Reduce_scatter_block(out, in, 1, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Scan(out, in, 1, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Exscan(out, in, 1, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Bcast(out, 0, MPI_DOUBLE, root, comm);
}

static void started(MPI_Comm comm, int root) {
  MPI_Request requests[4];
  MPI_Ibarrier(comm, &requests[0]);
  MPI_Ibcast(out, 1, MPI_DOUBLE, root, comm, &requests[1]);
  MPI_Iallreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, comm, &requests[2]);
  MPI_Ialltoallv(out, counts, places, MPI_DOUBLE, in + MOST / 2, counts, places, MPI_DOUBLE, comm,
                 &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* The barrier is tested but never started. (MPI_Waitall of MPICH 5.0 would wait for it for ever.) */
static void persistent(MPI_Comm comm, int root) {
  MPI_Request requests[3];
  int done;
  MPI_Reduce_init(out, in, 1, MPI_DOUBLE, MPI_SUM, root, comm, MPI_INFO_NULL, &requests[0]);
  MPI_Alltoall_init(out, 1, MPI_DOUBLE, in + MOST / 2, 1, MPI_DOUBLE, comm, MPI_INFO_NULL, &requests[1]);
  MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[2]);
  for (int i = 0; i < 3; i++) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Test(&requests[2], &done, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Request_free(&requests[2]);
}

int main(int argc, char** argv) {
  MPI_Comm comm = MPI_COMM_WORLD;
  int rank, ranks, root = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  for (int i = 0; i < MOST; i++) {
    counts[i] = 1;
    places[i] = i;
    places_bytes[i] = 8 * i;
    types[i] = MPI_DOUBLE;
  }
  if (argc > 2 && strcmp(argv[2], "part") == 0)
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, ranks - rank, &comm);
  if (comm != MPI_COMM_NULL) {
    if (strcmp(argv[1], "blocking") == 0) blocking(comm, root);
    if (strcmp(argv[1], "started") == 0) started(comm, root);
    if (strcmp(argv[1], "persistent") == 0) persistent(comm, root);
  }
  if (comm != MPI_COMM_WORLD && comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
