// MPI's own collective operations, by their blocking calls.
#pragma once

#include <mpi.h>

#include <vector>

#include "backends/mpi/check.hpp"
#include "backends/mpi/two_sided.hpp"
#include "program/blocks.hpp"
#include "program/program.hpp"

namespace crosscut::backends::mpi {

// Blocks lie in the order of their distance, in the vector that is sent and in the result.
inline void all_to_all_v_of(const program::Op& op, int rank, int ranks, const std::byte* sent,
                            std::byte* result, MPI_Comm comm) {
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<int> sizes(count), offsets(count), from_sizes(count), from_offsets(count);
  for (int distance = 0; distance < ranks; ++distance) {
    const auto block = program::uneven_block(op.bytes, ranks, distance);
    const auto to = static_cast<std::size_t>((rank + distance) % ranks);
    const auto from = static_cast<std::size_t>((rank + ranks - distance) % ranks);
    sizes[to] = from_sizes[from] = count_of(block.size());
    offsets[to] = from_offsets[from] = count_of(block.offset());
  }
  check(MPI_Alltoallv(sent, sizes.data(), offsets.data(), MPI_BYTE, result, from_sizes.data(),
                      from_offsets.data(), MPI_BYTE, comm),
        "MPI_Alltoallv");
}

// Runs one operation to completion. `result` is `sent` if it works in place.
inline void run_collective(const program::Op& op, std::byte* sent, std::byte* result, MPI_Comm comm) {
  using enum program::Collective;
  int ranks = 1, rank = 0;
  check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  const int block = count_of(op.bytes / ranks);
  constexpr auto a_word = static_cast<int>(program::word_bytes);
  const void* from = op.in_place ? MPI_IN_PLACE : sent;
  switch (op.collective) {
    case all_reduce:
      return check(MPI_Allreduce(from, result, count_of(op.bytes / a_word), MPI_UINT32_T, MPI_SUM, comm),
                   "MPI_Allreduce");
    case reduce_scatter:
      return check(MPI_Reduce_scatter_block(from, result, block / a_word, MPI_UINT32_T, MPI_SUM, comm),
                   "MPI_Reduce_scatter_block");
    case all_gather:
      return check(MPI_Allgather(from, block, MPI_BYTE, result, block, MPI_BYTE, comm), "MPI_Allgather");
    case broadcast:
      return check(MPI_Bcast(rank == 0 ? sent : result, count_of(op.bytes), MPI_BYTE, 0, comm), "MPI_Bcast");
    case all_to_all:
      return check(MPI_Alltoall(from, block, MPI_BYTE, result, block, MPI_BYTE, comm), "MPI_Alltoall");
    case all_to_all_v:
      return all_to_all_v_of(op, rank, ranks, sent, result, comm);
    case barrier:
      return check(MPI_Barrier(comm), "MPI_Barrier");
  }
}

}  // namespace crosscut::backends::mpi
