/* Every way to send a message, a known number of times (tests/integration/test_profile.py). */
#include <mpi.h>
#include <stdlib.h>

enum { TIMES = 3 };

static char out[2000], in[2000], buffer[100000];

static void blocking(MPI_Comm comm, int next, int before) {
  MPI_Request request;
  MPI_Sendrecv(out, 10, MPI_CHAR, next, 1, in, 10, MPI_CHAR, before, 1, comm, MPI_STATUS_IGNORE);
  MPI_Sendrecv_replace(in, 1000, MPI_CHAR, next, 1, before, 1, comm, MPI_STATUS_IGNORE);
  int (*modes[])(const void*, int, MPI_Datatype, int, int, MPI_Comm) = {MPI_Send, MPI_Bsend, MPI_Ssend,
                                                                        MPI_Rsend};
  for (int mode = 0; mode < 4; mode++) {
    MPI_Irecv(in, 100, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
    MPI_Barrier(comm); /* a ready send needs a posted receive */
    modes[mode](out, 100, MPI_DOUBLE, next, mode, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Send(out, 5, MPI_CHAR, MPI_PROC_NULL, 0, comm);
  MPI_Recv(in, 5, MPI_CHAR, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE);
}

static void started(MPI_Comm comm, int next, int before) {
  MPI_Request requests[2];
  int (*modes[])(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = {MPI_Isend, MPI_Ibsend,
                                                                                      MPI_Issend};
  for (int mode = 0; mode < 3; mode++) {
    MPI_Irecv(in, 1, MPI_INT, before, 7, comm, &requests[0]);
    modes[mode](out, 0, MPI_INT, next, 7, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Isend_c(out, 3, MPI_INT, next, 8, comm, &requests[1]);
  MPI_Message message;
  MPI_Mprobe(before, 8, comm, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(in, 3, MPI_INT, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Isendrecv(out, 2, MPI_INT, next, 9, in, 2, MPI_INT, before, 9, comm, &requests[0]);
  int done = 0;
  while (!done) MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
}

static void persistent(MPI_Comm comm, int next, int before) {
  MPI_Request requests[2], together;
  static int sum;
  MPI_Recv_init(in, 1500, MPI_CHAR, before, 2, comm, &requests[0]);
  MPI_Send_init(out, 1500, MPI_CHAR, next, 2, comm, &requests[1]);
  MPI_Bcast_init(&sum, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &together);
  for (int i = 0; i < TIMES; i++) {
    MPI_Startall(2, requests);
    MPI_Start(&together);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Wait(&together, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Request_free(&together);
}

int main(int argc, char** argv) {
  MPI_Comm reversed, twin;
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Buffer_attach(buffer, sizeof buffer);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  blocking(MPI_COMM_WORLD, (rank + 1) % ranks, (rank + ranks - 1) % ranks);
  started(MPI_COMM_WORLD, (rank + 1) % ranks, (rank + ranks - 1) % ranks);
  /* This communicator reverses the world's ranks: its next rank is the world's previous one. */
  for (int i = 0; i < TIMES; i++) {
    MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &reversed);
    MPI_Comm_dup(reversed, &twin);
    MPI_Comm_free(&reversed);
    MPI_Comm_rank(twin, &rank);
    persistent(twin, (rank + 1) % ranks, (rank + ranks - 1) % ranks);
    MPI_Comm_free(&twin);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }
  char* detached;
  int size;
  MPI_Buffer_detach(&detached, &size);
  MPI_Finalize();
  return 0;
}
