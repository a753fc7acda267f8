/* Collective calls and persistent operations: what they send. */
#include "accounting.h"

__thread int profile_depth;

uint64_t type_bytes(MPI_Datatype type) {
#if MPI_VERSION >= 4
  MPI_Count bytes = 0;
  PMPI_Type_size_c(type, &bytes);
#else
  MPI_Count bytes = 0;
  PMPI_Type_size_x(type, &bytes);
#endif
  return bytes > 0 ? (uint64_t)bytes : 0; /* MPI_UNDEFINED is negative */
}

static struct collective* fill(struct frame* f, enum pattern pattern, MPI_Comm comm, int root) {
  f->collective =
      (struct collective){.pattern = pattern, .group = group_of(comm), .root = root, .commutes = true};
  return &f->collective;
}

void vector(struct frame* f, enum pattern pattern, MPI_Comm comm, int root, int64_t count,
            MPI_Datatype type) {
  struct collective* what = fill(f, pattern, comm, root);
  /* Across an intercommunicator only the root and those it talks to have a buffer. */
  if (!what->group->inter || root != MPI_PROC_NULL) what->bytes = payload(count, type);
}

void commutes(struct frame* f, MPI_Op op) {
  int yes = 1;
  PMPI_Op_commutative(op, &yes);
  f->collective.commutes = yes != 0;
}

/* MPI_ROOT and MPI_PROC_NULL stand for a root across an intercommunicator; neither hands anything in. */
static bool is_root(const struct collective* what) {
  return what->group->inter ? what->root == MPI_ROOT : what->root == what->group->rank;
}

void gathers(struct frame* f, MPI_Comm comm, int root, const void* out, int64_t count, MPI_Datatype type,
             struct blocks in) {
  struct collective* what = fill(f, GATHER, comm, root);
  what->varied = in.varied;
  if (what->group->inter && root < 0) return;
  what->bytes = out == MPI_IN_PLACE ? block_bytes(&in, what->group->rank) : payload(count, type);
  if (is_root(what)) what->receives = in;
}

void scatters(struct frame* f, MPI_Comm comm, int root, struct blocks out, const void* in, int64_t count,
              MPI_Datatype type) {
  struct collective* what = fill(f, SCATTER, comm, root);
  what->varied = out.varied;
  if (what->group->inter && root < 0) return;
  what->bytes = in == MPI_IN_PLACE ? block_bytes(&out, what->group->rank) : payload(count, type);
  if (is_root(what)) what->sends = out;
}

void gathers_all(struct frame* f, MPI_Comm comm, struct blocks in) {
  struct collective* what = fill(f, ALL_GATHER, comm, 0);
  what->receives = in;
  what->varied = in.varied;
  what->bytes = what->group->inter || what->group->size == 0 ? 0 : block_bytes(&in, what->group->rank);
}

void all_to(struct frame* f, MPI_Comm comm, const void* buffer, struct blocks out, struct blocks in) {
  struct collective* what = fill(f, ALL_TO_ALL, comm, 0);
  what->sends = buffer == MPI_IN_PLACE ? in : out;
  what->receives = in;
  what->varied = in.varied;
  what->bytes = all_bytes(&what->sends, what->group->peers);
}

void reduces_scattered(struct frame* f, MPI_Comm comm, struct blocks in) {
  struct collective* what = fill(f, REDUCE_SCATTER, comm, 0);
  what->sends = in;
  what->bytes = all_bytes(&in, what->group->size);
}

void to_neighbours(struct frame* f, MPI_Comm comm, struct blocks out, struct blocks in) {
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

static void count_step(void* context, int to, uint64_t sent_bytes, int from, uint64_t received_bytes) {
  const struct counting* counting = context;
  (void)from, (void)received_bytes;
  if (to >= 0) count_message(counting->call, counting->group, to, sent_bytes, BY_COLLECTIVE, 1);
}

static void counts_as(int call, const struct collective* what) {
  struct counting counting = {call, what->group};
  count_collective(call, what->bytes);
  if (!what->group->inter && what->group->size > 0 && what->root >= 0 && what->root < what->group->size)
    decompose(what, count_step, &counting);
}

void counts(struct frame* f) { counts_as(f->call, &f->collective); }

void planned(struct frame* f, enum request_kind kind, const MPI_Request* request) {
  const struct request what = {.kind = kind, .persistent = true, .call = f->call, .message = f->message};
  remember(request_handle(request), &what);
}

void planned_together(struct frame* f, const MPI_Request* request) {
  const struct request what = {
      .kind = TOGETHER, .persistent = true, .call = f->call, .collective = f->collective};
  remember(request_handle(request), &what);
}

void starts(struct frame* f, int count, const MPI_Request requests[]) {
  struct request what;
  (void)f;
  for (int i = 0; i < count; i++) {
    const uint64_t handle = request_handle(&requests[i]);
    if (!recall(handle, &what) || !what.persistent) continue;
    if (what.kind == TOGETHER) counts_as(what.call, &what.collective);
    if (what.kind == TOGETHER || !is_peer(what.message.group, what.message.peer)) {
      /* Of receives any source may be asked for: the trace has it from their end. */
      if (trace_on && what.kind == RECEIVING && what.message.peer != MPI_PROC_NULL)
        restart(handle, trace_message(T_START_RECEIVE, what.call, &what.message));
      continue;
    }
    if (what.kind == SENDING)
      count_message(what.call, what.message.group, what.message.peer, what.message.bytes, BY_POINT, 1);
    if (trace_on)
      restart(handle,
              trace_message(what.kind == SENDING ? T_START_SEND : T_START_RECEIVE, what.call, &what.message));
  }
}

void frees(struct frame* f, const MPI_Request* request) {
  (void)f;
  forget(request_handle(request));
}
