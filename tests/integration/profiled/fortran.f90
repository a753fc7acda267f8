! Calls MPI from Fortran, a known number of times (tests/integration/test_profile_sites.py).
program fortran
#ifdef F08
  use mpi_f08
  implicit none
  type(MPI_Comm) :: backwards
  type(MPI_Request) :: requests(2)
#else
  use mpi
  implicit none
  integer :: backwards, requests(2)
#endif
  integer :: rank, ranks, next, before, i, ierr
  double precision :: out(100), in(100), total

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  out = rank

  call MPI_Sendrecv(out, 100, MPI_DOUBLE_PRECISION, next, 1, in, 100, MPI_DOUBLE_PRECISION, before, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call MPI_Irecv(in, 10, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Isend(out, 10, MPI_INTEGER, next, 2, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)

  ! In a communicator in reverse order `next` is the rank before.
  call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, backwards, ierr)
  call MPI_Recv_init(in, 5, MPI_DOUBLE_PRECISION, mod(ranks - rank + ranks - 2, ranks), 3, backwards, requests(1), ierr)
  call MPI_Send_init(out, 5, MPI_DOUBLE_PRECISION, mod(ranks - rank, ranks), 3, backwards, requests(2), ierr)
  do i = 1, 3
    call MPI_Startall(2, requests, ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  end do
  call MPI_Request_free(requests(1), ierr)
  call MPI_Request_free(requests(2), ierr)

  total = rank
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (nint(total) /= ranks * (ranks - 1) / 2) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
  call MPI_Comm_free(backwards, ierr)
  call MPI_Finalize(ierr)
end program fortran
