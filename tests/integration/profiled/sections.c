/* Sends one message of 10 bytes before each of two marked sections, one of 1000 bytes in each of them, and one of
 * 100,000 bytes after each. A persistent request, made outside, is started inside. */
#include <mpi.h>

static char buffer[100000];

static void send(int rank, int bytes) {
  if (rank == 0) MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wait_a_tenth(void) {
  const double start = MPI_Wtime();
  while (MPI_Wtime() < start + 0.1) {
  }
}

int main(int argc, char** argv) {
  int rank;
  MPI_Request kept;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send_init(buffer, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &kept);
  if (rank == 1) MPI_Recv_init(buffer, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &kept);
  for (int section = 0; section < 2; section++) {
    send(rank, 10);
    wait_a_tenth();
    MPI_Pcontrol(1);
    MPI_Start(&kept);
    MPI_Wait(&kept, MPI_STATUS_IGNORE);
    send(rank, 1000);
    wait_a_tenth();
    MPI_Pcontrol(0);
    send(rank, 100000);
    wait_a_tenth();
  }
  MPI_Request_free(&kept);
  MPI_Finalize();
  return 0;
}
