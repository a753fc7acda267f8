/* The functions that calls.def uses for each call: they count its messages and follow its requests. All are
 * inlined into the wrappers. Without a trace, receives and waits are only timed. */
#ifndef CROSSCUT_ACCOUNTING_H
#define CROSSCUT_ACCOUNTING_H

#include "profile.h"

/* 1 while in an MPI call. Calls made inside it, by MPI's implementation or by the program's callbacks, are
 * part of that call. */
XC_THREAD int profile_depth;

static inline bool enter(void) {
  if (!profile_on || profile_depth != 0) return false;
  profile_depth = 1;
  return true;
}

static inline void begin(struct frame* f) {
  f->start_ticks = ticks_now();
  profile_header->current_ticks = f->start_ticks;
  profile_header->current_call = (uint32_t)f->call + 1;
  if (trace_on) trace_enter(f->start_ticks);
}

static inline void end(const struct frame* f) {
  const uint64_t now = ticks_now();
  const uint64_t taken = now - f->start_ticks;
  struct profile_call* counters = &profile_calls[f->call];
  if (profile_counting) {
    add(&counters->count, 1);
    add(&counters->ticks, taken);
    if (taken > counters->longest_ticks) counters->longest_ticks = taken;
  }
  profile_header->last_ticks = now;
  profile_header->current_call = 0;
}

static inline void leave(void) {
  if (trace_on) trace_leave(ticks_now()); /* the time that tracing took is not computing */
  profile_depth = 0;
}

/* Describes a message. MPI_PROC_NULL, and ranks that MPI will reject, have no peer. */
static inline void names(struct frame* f, MPI_Comm comm, int peer, int tag, int64_t count,
                         MPI_Datatype type) {
  f->message = (struct message){group_of(comm), peer, tag, payload(count, type)};
}

static inline void sends(struct frame* f, MPI_Comm comm, int peer, int tag, int64_t count,
                         MPI_Datatype type) {
  names(f, comm, peer, tag, count, type);
  if (is_peer(f->message.group, peer))
    count_message(f->call, f->message.group, peer, f->message.bytes, BY_POINT, 1);
}

static inline void receives(struct frame* f, MPI_Comm comm, int peer, int tag, int64_t count,
                            MPI_Datatype type) {
  if (trace_on) names(f, comm, peer, tag, count, type);
}

static inline void exchanges(struct frame* f, MPI_Comm comm, int peer, int tag, int64_t count,
                             MPI_Datatype type, int source, int in_tag, int64_t in_count,
                             MPI_Datatype in_type) {
  sends(f, comm, peer, tag, count, type);
  if (trace_on) f->second = (struct message){f->message.group, source, in_tag, payload(in_count, in_type)};
}

/* Returns a status of our own if the program ignores it but a trace needs it. */
static inline MPI_Status* status_for(struct frame* f, MPI_Status* status) {
  return trace_on && status == MPI_STATUS_IGNORE ? &f->status : status;
}

static inline void moves(struct frame* f, MPI_Win window, int target, int64_t count, MPI_Datatype type) {
  const struct group* group = group_of_window(window);
  if (is_peer(group, target)) count_message(f->call, group, target, payload(count, type), BY_ONE_SIDED, 1);
}

/* The blocks of a collective call. */
static inline struct blocks even(int64_t count, MPI_Datatype type) {
  return (struct blocks){.unit = payload(count, type)};
}
#define UNEVEN(counts, type) ((struct blocks){counts, sizeof *(counts) == 8, type_bytes(type), NULL, true})
#define VARIED(counts, types) ((struct blocks){counts, sizeof *(counts) == 8, 0, types, true})

static inline struct collective* fill(struct frame* f, enum pattern pattern, MPI_Comm comm, int root) {
  f->collective =
      (struct collective){.pattern = pattern, .group = group_of(comm), .root = root, .commutes = true};
  return &f->collective;
}

static inline void vector(struct frame* f, enum pattern pattern, MPI_Comm comm, int root, int64_t count,
                          MPI_Datatype type) {
  struct collective* what = fill(f, pattern, comm, root);
  /* In an intercommunicator, only the root and the ranks that it talks to have a buffer. */
  if (!what->group->inter || root != MPI_PROC_NULL) what->bytes = payload(count, type);
}

static inline void commutes(struct frame* f, MPI_Op op) {
  int yes = 1;
  PMPI_Op_commutative(op, &yes);
  f->collective.commutes = yes != 0;
}

/* In an intercommunicator, MPI_ROOT and MPI_PROC_NULL stand for a root; neither contributes data. */
static inline bool is_root(const struct collective* what) {
  return what->group->inter ? what->root == MPI_ROOT : what->root == what->group->rank;
}

/* Fills in a gather or scatter. `own`, `count` and `type` describe what this rank contributes or receives. */
static inline void rooted(struct frame* f, enum pattern pattern, MPI_Comm comm, int root, struct blocks whole,
                          const void* own, int64_t count, MPI_Datatype type) {
  struct collective* what = fill(f, pattern, comm, root);
  what->varied = whole.varied;
  if (what->group->inter && root < 0) return;
  what->bytes = own == MPI_IN_PLACE ? block_bytes(&whole, what->group->rank) : payload(count, type);
  if (is_root(what)) *(pattern == GATHER ? &what->receives : &what->sends) = whole;
}

static inline void gathers_all(struct frame* f, MPI_Comm comm, struct blocks in) {
  struct collective* what = fill(f, ALL_GATHER, comm, 0);
  what->receives = in;
  what->varied = in.varied;
  what->bytes = what->group->inter || what->group->size == 0 ? 0 : block_bytes(&in, what->group->rank);
}

static inline void all_to(struct frame* f, MPI_Comm comm, const void* buffer, struct blocks out,
                          struct blocks in) {
  struct collective* what = fill(f, ALL_TO_ALL, comm, 0);
  what->sends = buffer == MPI_IN_PLACE ? in : out;
  what->receives = in;
  what->varied = in.varied;
  what->bytes = all_bytes(&what->sends, what->group->peers);
}

static inline void reduces_scattered(struct frame* f, MPI_Comm comm, struct blocks in) {
  struct collective* what = fill(f, REDUCE_SCATTER, comm, 0);
  what->sends = in;
  what->bytes = all_bytes(&in, what->group->size);
}

static inline void to_neighbours(struct frame* f, MPI_Comm comm, struct blocks out, struct blocks in) {
  struct collective* what = fill(f, NEIGHBOURS, comm, 0);
  int topology = MPI_UNDEFINED;
  PMPI_Topo_test(comm, &topology);
  if (topology == MPI_CART) what->pattern = ON_GRID;
  const struct neighbours* all = neighbours_of(comm, what->group);
  what->sends = out;
  what->receives = in;
  for (int i = 0; i < all->destinations; i++)
    if (all->ranks[all->sources + i] >= 0) what->bytes += block_bytes(&out, i);
}

struct counting {
  int call;
  const struct group* group;
};

static inline void count_step(void* context, int to, uint64_t sent_bytes, int from, uint64_t received_bytes) {
  const struct counting* counting = context;
  (void)from, (void)received_bytes;
  if (to >= 0) count_message(counting->call, counting->group, to, sent_bytes, BY_COLLECTIVE, 1);
}

static inline void counts_as(int call, const struct collective* what) {
  struct counting counting = {call, what->group};
  count_collective(call, what->bytes);
  if (!what->group->inter && what->group->size > 0 && what->root >= 0 && what->root < what->group->size)
    decompose(what, count_step, &counting);
}

static inline void counts(struct frame* f) { counts_as(f->call, &f->collective); }

static inline void planned(struct frame* f, enum request_kind kind, const MPI_Request* request) {
  struct request what = {.kind = kind, .persistent = true, .call = f->call};
  if (kind == TOGETHER)
    what.collective = f->collective;
  else
    what.message = f->message;
  remember(request_handle(request), &what);
}

static inline void starts(int count, const MPI_Request requests[]) {
  struct request what;
  for (int i = 0; i < count; i++) {
    const uint64_t handle = request_handle(&requests[i]);
    if (!recall(handle, &what) || !what.persistent) continue;
    if (what.kind == TOGETHER) {
      counts_as(what.call, &what.collective);
      if (trace_on) restart(handle, 1); /* a wait finds it under way */
      continue;
    }
    const bool known = is_peer(what.message.group, what.message.peer), sending = what.kind == SENDING;
    if (sending && known)
      count_message(what.call, what.message.group, what.message.peer, what.message.bytes, BY_POINT, 1);
    /* A receive may accept any source: the trace takes the source from its completion. */
    if (trace_on && (known || (!sending && what.message.peer != MPI_PROC_NULL)))
      restart(handle, trace_message(sending ? T_START_SEND : T_START_RECEIVE, what.call, &what.message));
  }
}

#endif
