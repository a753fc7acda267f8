/* Decomposes collective calls into the messages of MPICH 1.2, which Lobosco, Santos Costa and de Amorim (ICCS
 * 2002) logged. The algorithms are those of its src/coll/intra_fns.c and intra_scan.c up to release 1.2.4
 * (release 1.2.5 has others, in intra_fns_new.c). Messages to oneself are counted where MPICH sent them.
 * Neighbourhood collectives, which came later, count as one message to each neighbour. Calls on
 * intercommunicators are not decomposed. */
#include "profile.h"

#define NOBODY (-1)

uint64_t type_bytes(MPI_Datatype type) {
  MPI_Count bytes = 0;
#if MPI_VERSION >= 4
  PMPI_Type_size_c(type, &bytes);
#else
  PMPI_Type_size_x(type, &bytes);
#endif
  return bytes > 0 ? (uint64_t)bytes : 0; /* MPI_UNDEFINED is negative */
}

static uint64_t count_at(const struct blocks* blocks, int index) {
  const int64_t count =
      blocks->wide ? ((const int64_t*)blocks->counts)[index] : ((const int32_t*)blocks->counts)[index];
  return count > 0 ? (uint64_t)count : 0;
}

uint64_t block_bytes(const struct blocks* blocks, int index) {
  if (blocks->counts == NULL) return blocks->unit;
  return count_at(blocks, index) * (blocks->types != NULL ? type_bytes(blocks->types[index]) : blocks->unit);
}

uint64_t all_bytes(const struct blocks* blocks, int count) {
  if (blocks->counts == NULL) return blocks->unit * (uint64_t)count;
  uint64_t sum = 0;
  for (int i = 0; i < count; i++) sum += block_bytes(blocks, i);
  return sum;
}

/* intra_Barrier: a hypercube over the largest power of two. Each rank above it has a partner below. */
static void barrier(const struct collective* what, step* visit, void* context) {
  const struct group* group = what->group;
  int within = 1;
  while (2 * within <= group->size) within *= 2;
  const int above = group->size - within;
  if (group->rank >= within) {
    visit(context, group->rank - within, 0, group->rank - within, 0);
    return;
  }
  if (group->rank < above) visit(context, NOBODY, 0, within + group->rank, 0);
  for (int bit = 1; bit < within; bit *= 2) visit(context, group->rank ^ bit, 0, group->rank ^ bit, 0);
  if (group->rank < above) visit(context, within + group->rank, 0, NOBODY, 0);
}

/* intra_Bcast: a binomial tree, farthest child first. */
static void broadcast(const struct collective* what, step* visit, void* context) {
  const int size = what->group->size, rank = what->group->rank;
  const int relative = (rank - what->root + size) % size;
  const uint64_t bytes = what->bytes;
  int64_t bit = 1;
  if (bytes == 0) return;
  while (bit < size && (relative & bit) == 0) bit *= 2;
  if (bit < size) visit(context, NOBODY, 0, (int)((rank - bit + size) % size), bytes);
  for (bit /= 2; bit > 0; bit /= 2)
    if (relative + bit < size) visit(context, (int)((rank + bit) % size), bytes, NOBODY, 0);
}

/* intra_Reduce: the same tree upwards; via rank 0 to the root if the operation does not commute. */
static void reduce(const struct collective* what, step* visit, void* context) {
  const int size = what->group->size, rank = what->group->rank, root = what->root;
  const int top = what->commutes ? root : 0;
  const int relative = (rank - top + size) % size;
  const uint64_t bytes = what->bytes;
  if (bytes == 0) return;
  for (int64_t bit = 1; bit < size; bit *= 2) {
    if ((relative & bit) != 0) {
      visit(context, (int)((relative - bit + top) % size), bytes, NOBODY, 0);
      break;
    }
    if (relative + bit < size) visit(context, NOBODY, 0, (int)((relative + bit + top) % size), bytes);
  }
  if (top == root) return;
  if (rank == top) visit(context, root, bytes, NOBODY, 0);
  if (rank == root) visit(context, NOBODY, 0, top, bytes);
}

/* intra_Gather, intra_Gatherv: every rank sends to the root, including the root itself. */
static void gather(const struct collective* what, step* visit, void* context) {
  const struct group* group = what->group;
  if (group->rank != what->root) {
    visit(context, what->root, what->bytes, NOBODY, 0);
    return;
  }
  for (int i = 0; i < group->size; i++) {
    const uint64_t bytes = block_bytes(&what->receives, i);
    visit(context, i == group->rank ? i : NOBODY, i == group->rank ? what->bytes : 0, i, bytes);
  }
}

/* intra_Scatter, intra_Scatterv: the root sends to every rank, including itself. */
static void scatter(const struct collective* what, step* visit, void* context) {
  const int root = what->root;
  if (what->group->rank != root) {
    visit(context, NOBODY, 0, root, what->bytes);
    return;
  }
  for (int i = 0; i < what->group->size; i++) {
    const uint64_t block = block_bytes(&what->sends, i);
    visit(context, i, block, i == root ? i : NOBODY, i == root ? block : 0);
  }
}

/* intra_Allgather, intra_Allgatherv: a message to oneself, then a ring in which each block moves one hop per
 * step. */
static void all_gather(const struct collective* what, step* visit, void* context) {
  const int size = what->group->size, rank = what->group->rank;
  const uint64_t own = block_bytes(&what->receives, rank);
  visit(context, rank, own, rank, own);
  for (int i = 0; i + 1 < size; i++) {
    const int passed = (rank - i + size) % size;
    const int taken = (rank - i - 1 + size) % size;
    visit(context, (rank + 1) % size, block_bytes(&what->receives, passed), (rank - 1 + size) % size,
          block_bytes(&what->receives, taken));
  }
}

/* intra_Alltoall, intra_Alltoallv: a message to every rank, including oneself. MPICH starts all at once; here
 * they are ordered so that one send and one receive can be waited for together. */
static void all_to_all(const struct collective* what, step* visit, void* context) {
  const int size = what->group->size, rank = what->group->rank;
  for (int i = 0; i < size; i++) {
    const int to = (rank + i) % size;
    const int from = (rank - i + size) % size;
    visit(context, to, block_bytes(&what->sends, to), from, block_bytes(&what->receives, from));
  }
}

/* MPIR_intra_Scan (J. L. Träff): odd "round ranks" receive partial results, which are then passed on. */
static void scan(const struct collective* what, step* visit, void* context) {
  const int size = what->group->size, rank = what->group->rank;
  const uint64_t bytes = what->bytes;
  int64_t hop = 1;
  if (bytes == 0) return;
  visit(context, rank, bytes, rank, bytes); /* MPIR_COPYSELF */
  for (int round = rank; (round & 1) != 0; round /= 2, hop *= 2)
    visit(context, NOBODY, 0, (int)(rank - hop), bytes);
  if (rank + hop < size) visit(context, (int)(rank + hop), bytes, NOBODY, 0);
  if (rank - hop >= 0) visit(context, NOBODY, 0, (int)(rank - hop), bytes);
  for (hop /= 2; hop > 0; hop /= 2)
    if (rank + hop < size) visit(context, (int)(rank + hop), bytes, NOBODY, 0);
}

static void to_neighbours(const struct collective* what, step* visit, void* context) {
  const struct neighbours* all = what->group->neighbours;
  if (all == NULL) return;
  for (int i = 0; i < all->sources || i < all->destinations; i++) {
    /* On a grid, what is sent down is received from above. */
    const int other = what->pattern == ON_GRID ? i ^ 1 : i;
    int to = i < all->destinations ? all->ranks[all->sources + i] : NOBODY;
    int from = other < all->sources ? all->ranks[other] : NOBODY;
    if (to < 0) to = NOBODY; /* MPI_PROC_NULL */
    if (from < 0) from = NOBODY;
    visit(context, to, to >= 0 ? block_bytes(&what->sends, i) : 0, from,
          from >= 0 ? block_bytes(&what->receives, other) : 0);
  }
}

/* intra_Allreduce: a reduction to rank 0, then a broadcast. */
static void all_reduce(const struct collective* what, step* visit, void* context) {
  struct collective part = *what;
  part.root = 0;
  part.commutes = true;
  reduce(&part, visit, context);
  broadcast(&part, visit, context);
}

/* intra_Reduce_scatter: a reduction to rank 0, then a scatter. */
static void reduce_scatter(const struct collective* what, step* visit, void* context) {
  struct collective part = *what;
  if (what->bytes == 0) return;
  part.root = 0;
  part.commutes = true;
  reduce(&part, visit, context);
  part.bytes = block_bytes(&what->sends, what->group->rank);
  scatter(&part, visit, context);
}

void decompose(const struct collective* what, step* visit, void* context) {
  static void (*const by_pattern[])(const struct collective*, step*, void*) = {
      [BARRIER] = barrier, [BROADCAST] = broadcast,      [GATHER] = gather,
      [SCATTER] = scatter, [ALL_GATHER] = all_gather,    [ALL_TO_ALL] = all_to_all,
      [REDUCE] = reduce,   [ALL_REDUCE] = all_reduce,    [REDUCE_SCATTER] = reduce_scatter,
      [SCAN] = scan,       [NEIGHBOURS] = to_neighbours, [ON_GRID] = to_neighbours,
  };
  if (!what->group->inter && what->group->size > 0) by_pattern[what->pattern](what, visit, context);
}
