/* World ranks of the members of communicators and windows, computed once and kept as an attribute. MPI calls
 * back when the communicator is freed, so a reused handle never finds the ranks of its predecessor. */
#include <pthread.h>
#include <stdlib.h>

#include "profile.h"

/* `world` and `nobody` have no holders, so they are never freed. */
static struct group world;
static const struct group nobody;
static MPI_Group world_group;
static int comm_key, window_key;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

void hold(const struct group* group) {
  if (group->holders > 0) __atomic_fetch_add((int*)(uintptr_t)&group->holders, 1, __ATOMIC_RELAXED);
}

void let_go(const struct group* held) {
  struct group* group = (struct group*)(uintptr_t)held;
  if (group->holders == 0 || __atomic_sub_fetch(&group->holders, 1, __ATOMIC_ACQ_REL) > 0) return;
  if (group->neighbours != NULL) free(group->neighbours->ranks);
  free(group->neighbours);
  free((void*)(uintptr_t)group->world_rank);
  free(group);
}

static int comm_gone(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)extra;
  let_go(value);
  return MPI_SUCCESS;
}

static int window_gone(MPI_Win window, int key, void* value, void* extra) {
  (void)window, (void)key, (void)extra;
  let_go(value);
  return MPI_SUCCESS;
}

void groups_open(void) {
  PMPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &world.size);
  world.peers = world.size;
  world.everybody = true;
  PMPI_Comm_group(MPI_COMM_WORLD, &world_group);
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_gone, &comm_key, NULL);
  PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, window_gone, &window_key, NULL);
}

/* Returns the world ranks of a group, -1 for processes of another world; NULL if there is no memory. */
static int* translated(MPI_Group group, int size) {
  int* ranks = calloc((size_t)size * 2 + 1, sizeof *ranks);
  if (ranks == NULL) return NULL;
  for (int i = 0; i < size; i++) ranks[size + i] = i;
  PMPI_Group_translate_ranks(group, size, ranks + size, world_group, ranks);
  for (int i = 0; i < size; i++)
    if (ranks[i] == MPI_UNDEFINED) ranks[i] = -1;
  return ranks;
}

static uint64_t mixed(uint64_t hash, uint64_t number) {
  hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ (hash >> 29);
}

/* Returns a number that is the same on all members, and on both sides of an intercommunicator: it depends on
 * their world ranks only. */
static uint64_t identity(MPI_Group own, const struct group* group) {
  uint64_t theirs = 1, ours = 1;
  for (int i = 0; i < group->peers; i++) theirs = mixed(theirs, (uint64_t)(unsigned)group->world_rank[i]);
  if (!group->inter) return theirs | 1;
  int* ranks = translated(own, group->size);
  for (int i = 0; ranks != NULL && i < group->size; i++) ours = mixed(ours, (uint64_t)(unsigned)ranks[i]);
  free(ranks);
  return (theirs ^ ours) | 1;
}

/* Returns true if the group has all ranks of MPI_COMM_WORLD in the same order. */
static bool is_everybody(const struct group* group) {
  if (group->inter || group->peers != world.peers) return false;
  for (int i = 0; i < group->peers; i++)
    if (group->world_rank[i] != i) return false;
  return true;
}

static struct group* made(MPI_Group own, MPI_Group addressed, bool inter) {
  struct group* group = calloc(1, sizeof *group);
  if (group == NULL) return NULL;
  PMPI_Group_rank(own, &group->rank);
  PMPI_Group_size(own, &group->size);
  PMPI_Group_size(addressed, &group->peers);
  group->inter = inter;
  group->holders = 1;
  group->world_rank = translated(addressed, group->peers);
  if (group->world_rank == NULL && group->peers > 0) {
    free(group);
    return NULL;
  }
  group->id = identity(own, group);
  group->everybody = is_everybody(group);
  return group;
}

static struct group* made_of_comm(MPI_Comm comm) {
  MPI_Group own, remote;
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_group(comm, &own);
  if (inter)
    PMPI_Comm_remote_group(comm, &remote);
  else
    remote = own;
  struct group* group = made(own, remote, inter != 0);
  if (inter) PMPI_Group_free(&remote);
  PMPI_Group_free(&own);
  return group;
}

const struct group* group_of(MPI_Comm comm) {
  struct group* group = NULL;
  int found = 0;
  if (comm == MPI_COMM_WORLD) return &world;
  if (comm == MPI_COMM_NULL) return &nobody;
  PMPI_Comm_get_attr(comm, comm_key, &group, &found);
  if (found) return group;
  pthread_mutex_lock(&making);
  PMPI_Comm_get_attr(comm, comm_key, &group, &found);
  if (!found) {
    group = made_of_comm(comm);
    if (group != NULL) PMPI_Comm_set_attr(comm, comm_key, group);
  }
  pthread_mutex_unlock(&making);
  return group != NULL ? group : &nobody;
}

const struct group* group_of_window(MPI_Win window) {
  struct group* group = NULL;
  int found = 0;
  PMPI_Win_get_attr(window, window_key, &group, &found);
  if (found) return group;
  pthread_mutex_lock(&making);
  PMPI_Win_get_attr(window, window_key, &group, &found);
  if (!found) {
    MPI_Group members;
    PMPI_Win_get_group(window, &members);
    group = made(members, members, false);
    PMPI_Group_free(&members);
    if (group != NULL) PMPI_Win_set_attr(window, window_key, group);
  }
  pthread_mutex_unlock(&making);
  return group != NULL ? group : &nobody;
}

/* Finds the neighbours in a Cartesian grid in the standard's order: down and up each dimension, including
 * MPI_PROC_NULL. */
static void grid_neighbours(MPI_Comm comm, struct neighbours* found) {
  int dimensions = 0;
  PMPI_Cartdim_get(comm, &dimensions);
  found->sources = found->destinations = 2 * dimensions;
  found->ranks = malloc((4 * (size_t)dimensions + 1) * sizeof(int));
  for (int i = 0; found->ranks != NULL && i < dimensions; i++) {
    int* pair = &found->ranks[2 * (size_t)i];
    PMPI_Cart_shift(comm, i, 1, &pair[0], &pair[1]);
    int* copy = pair + found->sources;
    copy[0] = pair[0];
    copy[1] = pair[1];
  }
}

static void graph_neighbours(MPI_Comm comm, int rank, struct neighbours* found) {
  int count = 0;
  PMPI_Graph_neighbors_count(comm, rank, &count);
  found->sources = found->destinations = count;
  found->ranks = malloc((2 * (size_t)count + 1) * sizeof(int));
  if (found->ranks == NULL) return;
  PMPI_Graph_neighbors(comm, rank, count, found->ranks);
  for (int i = 0; i < count; i++) found->ranks[count + i] = found->ranks[i];
}

static void distributed_neighbours(MPI_Comm comm, struct neighbours* found) {
  int weighted = 0;
  PMPI_Dist_graph_neighbors_count(comm, &found->sources, &found->destinations, &weighted);
  const size_t count = (size_t)found->sources + (size_t)found->destinations;
  found->ranks = malloc((count + 1) * sizeof(int));
  int* weights = malloc((count + 1) * sizeof(int));
  if (found->ranks != NULL && weights != NULL)
    PMPI_Dist_graph_neighbors(comm, found->sources, found->ranks, weights, found->destinations,
                              found->ranks + found->sources, weights + found->sources);
  free(weights);
}

const struct neighbours* neighbours_of(MPI_Comm comm, const struct group* group) {
  static const struct neighbours none;
  struct group* owner = (struct group*)(uintptr_t)group;
  if (group == &nobody || group == &world) return &none; /* these have no topology */
  pthread_mutex_lock(&making);
  if (owner->neighbours == NULL && (owner->neighbours = calloc(1, sizeof *owner->neighbours)) != NULL) {
    int topology = MPI_UNDEFINED;
    PMPI_Topo_test(comm, &topology);
    if (topology == MPI_CART)
      grid_neighbours(comm, owner->neighbours);
    else if (topology == MPI_GRAPH)
      graph_neighbours(comm, group->rank, owner->neighbours);
    else if (topology == MPI_DIST_GRAPH)
      distributed_neighbours(comm, owner->neighbours);
    if (owner->neighbours->ranks == NULL) owner->neighbours->sources = owner->neighbours->destinations = 0;
  }
  pthread_mutex_unlock(&making);
  return owner->neighbours != NULL ? owner->neighbours : &none;
}
