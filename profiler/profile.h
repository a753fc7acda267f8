/* Declarations shared by the parts of libcrosscut-profile.so. It stands between a program and its MPI (MPI
 * standard, chapter "Tool Support": every MPI_X also exists as PMPI_X) and counts in a mapped file. */
#ifndef CROSSCUT_PROFILE_H
#define CROSSCUT_PROFILE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "profile_file.h"

/* MPI functions that this library calls but does not replace. They are weak, since the library is also loaded
 * into launchers and shells, which have no MPI and must still start. */
#pragma weak PMPI_Cart_shift
#pragma weak PMPI_Cartdim_get
#pragma weak PMPI_Comm_create_keyval
#pragma weak PMPI_Comm_get_attr
#pragma weak PMPI_Comm_group
#pragma weak PMPI_Comm_rank
#pragma weak PMPI_Comm_remote_group
#pragma weak PMPI_Comm_set_attr
#pragma weak PMPI_Comm_size
#pragma weak PMPI_Comm_test_inter
#pragma weak PMPI_Dist_graph_neighbors
#pragma weak PMPI_Dist_graph_neighbors_count
#pragma weak PMPI_Graph_neighbors
#pragma weak PMPI_Graph_neighbors_count
#pragma weak PMPI_Group_free
#pragma weak PMPI_Group_rank
#pragma weak PMPI_Group_size
#pragma weak PMPI_Group_translate_ranks
#pragma weak PMPI_Op_commutative
#pragma weak PMPI_Test_cancelled
#pragma weak PMPI_Topo_test
#pragma weak PMPI_Type_size_c
#pragma weak PMPI_Win_create_keyval
#pragma weak PMPI_Win_get_attr
#pragma weak PMPI_Win_get_group
#pragma weak PMPI_Win_set_attr
#pragma weak PMPI_Type_size_x

/* Libraries in LD_PRELOAD have their thread-local variables in the static block, one instruction away. */
#define XC_THREAD static __thread __attribute__((tls_model("initial-exec")))

enum {
#define CALL_OWN(name, kind) CALL_##name,
#define CALL(name, kind, parameters, arguments, before, after) CALL_##name,
#define CALL_C CALL
#include "calls.def"
#undef CALL_OWN
#undef CALL
#undef CALL_C
  CALL_COUNT
};

/* The members of a communicator or window. Kept as its attribute, so freed with it. */
struct group {
  int holders;    /* the communicator, and persistent operations that outlive it */
  int rank, size; /* of this rank's own group */
  int peers;      /* in the addressed group: the remote one of an intercommunicator */
  bool inter;
  bool everybody;        /* all of MPI_COMM_WORLD, in its order */
  const int* world_rank; /* [peer]; NULL: the same number */
  uint64_t id;           /* the same on all members; 0: MPI_COMM_WORLD */
  struct neighbours* neighbours;
};

struct neighbours {
  int sources, destinations; /* their numbers */
  int* ranks;                /* of the sources, then of the destinations; ranks of the communicator */
};

/* Sizes of a collective call's blocks, one per rank. */
struct blocks {
  const void* counts;        /* NULL: `unit` bytes each */
  bool wide;                 /* counts have 8 bytes, otherwise 4 */
  uint64_t unit;             /* bytes of one element */
  const MPI_Datatype* types; /* not NULL: one type per block, instead of `unit` */
  bool varied;               /* the call may give sizes that differ, even if only the root has counts */
};

enum pattern {
  BARRIER,
  BROADCAST,
  GATHER,
  SCATTER,
  ALL_GATHER,
  ALL_TO_ALL,
  REDUCE,
  ALL_REDUCE,
  REDUCE_SCATTER,
  SCAN,
  NEIGHBOURS,
  ON_GRID
};

struct collective {
  enum pattern pattern;
  const struct group* group;
  int root;
  bool commutes;
  bool varied;    /* blocks may differ in size: MPI_Gatherv and the like */
  uint64_t bytes; /* the whole vector of a broadcast or reduction; this rank's block of a gather or scatter */
  struct blocks sends, receives;
};

/* A message, as the program describes it. */
struct message {
  const struct group* group;
  int peer; /* rank in the group */
  int tag;
  uint64_t bytes;
};

enum request_kind { NO_REQUEST, SENDING, RECEIVING, TOGETHER };

struct request {
  uint64_t handle; /* 0: the place was never used; 1: its request is gone */
  uint64_t serial; /* of the operation in progress, in the trace */
  enum request_kind kind;
  bool persistent;
  int call;
  struct message message;
  uint64_t second_serial;
  struct message second;
  struct collective collective;
};

/* A call in progress. */
struct frame {
  int call;
  uint64_t start_ticks;
  struct message message;
  struct message second; /* the receiving half of a send-receive */
  struct collective collective;
  MPI_Status status;
};

/* Internal to the library. */
#pragma GCC visibility push(hidden)

/* counters.c */
extern struct profile_header* profile_header;
extern bool profile_on, profile_threaded, profile_tsc;
extern bool profile_counting; /* false while MPI_Pcontrol(0) holds; calls are still followed */
void profile_begin(void);
void profile_open(int thread_level);
void profile_close(void);
void profile_section(int level);
void profile_clock_pair(uint64_t* ticks, uint64_t* nanoseconds);
extern struct profile_call* profile_calls; /* [call] */
void count_message(int call, const struct group* group, int peer, uint64_t bytes, enum profile_way way,
                   uint64_t times);
void count_collective(int call, uint64_t bytes);
void complain(const char* text, const char* detail);

/* groups.c */
void groups_open(void);
const struct group* group_of(MPI_Comm comm);
const struct group* group_of_window(MPI_Win window);
const struct neighbours* neighbours_of(MPI_Comm comm, const struct group* group);
void hold(const struct group* group);
void let_go(const struct group* group);
static inline int world_rank(const struct group* group, int peer) {
  return group->world_rank != NULL ? group->world_rank[peer] : peer;
}

/* messages.c: the messages of a collective call. `to` and `from` are ranks of the group; -1: none. */
typedef void step(void* context, int to, uint64_t sent_bytes, int from, uint64_t received_bytes);
void decompose(const struct collective* collective, step* visit, void* context);
uint64_t block_bytes(const struct blocks* blocks, int index);
uint64_t all_bytes(const struct blocks* blocks, int count);
uint64_t type_bytes(MPI_Datatype type);
static inline uint64_t payload(int64_t count, MPI_Datatype type) {
  return count > 0 ? (uint64_t)count * type_bytes(type) : 0;
}

static inline bool is_peer(const struct group* group, int peer) { return peer >= 0 && peer < group->peers; }

/* requests.c */
void remember(uint64_t handle, const struct request* what);
bool recall(uint64_t handle, struct request* found);
void restart(uint64_t handle, uint64_t serial);
void forget(uint64_t handle);
static inline uint64_t request_handle(const MPI_Request* request) {
  uint64_t handle = 0;
  memcpy(&handle, request, sizeof *request);
  return handle;
}

/* loading.c */
typedef void any_function(void);
/* Returns the function of that name in the MPI visible to the caller; ends the program if there is none. */
any_function* function_of_mpi(const char* name, const void* caller);
bool from_fortran(const void* caller);
const char* library_of_mpi(void); /* path of its file; NULL: unknown */
bool helpers_are_there(void);

/* following.c: used by the trace only */
void sent(struct frame* f);
void received(struct frame* f, const MPI_Status* status);
void exchanged(struct frame* f, const MPI_Status* status);
void together(struct frame* f);
void started(struct frame* f, enum request_kind kind, const MPI_Request* request);
void started_exchange(struct frame* f, const MPI_Request* request);
void started_together(struct frame* f, const MPI_Request* request);
void matched(MPI_Comm comm, const MPI_Message* message, const MPI_Status* status);
void receives_matched(struct frame* f, const MPI_Message* message, int64_t count, MPI_Datatype type);
void watches(struct frame* f, int count, const MPI_Request requests[]);
MPI_Status* statuses_for(int count, MPI_Status* statuses);
void completed(int index, const MPI_Status* status);
void completed_all(int count, const MPI_Status* statuses);
void completed_any(int index, const MPI_Status* status);
void completed_some(int count, const int indices[], const MPI_Status* statuses);

/* trace.c */
extern bool trace_on;
void trace_open(const char* folder, int rank, int ranks);
void trace_close(bool complete);
void trace_enter(uint64_t ticks);
void trace_leave(uint64_t ticks);
uint64_t trace_message(enum trace_kind kind, int call, const struct message* message);
void trace_complete(int call, uint64_t serial, int world, int tag);
void trace_collective(int call, const struct collective* collective);

#pragma GCC visibility pop

static inline uint64_t ticks_now(void) {
#if defined(__x86_64__)
  if (profile_tsc) return __rdtsc();
#endif
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Adds atomically only if several threads may be in MPI: an atomic instruction would dominate the cost. */
static inline void add(uint64_t* counter, uint64_t amount) {
  if (profile_threaded)
    __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
  else
    *counter += amount;
}

#endif
