/* What calls.def says of each call: which messages it sends, and what becomes of its requests. All of it is
 * compiled into the wrappers. Without a trace nothing is done for receives and waits but taking their time.
 */
#ifndef CROSSCUT_ACCOUNTING_H
#define CROSSCUT_ACCOUNTING_H

#include "profile.h"

/* Within a call of MPI: what its implementation, or a function of the program that it calls back, calls in
 * turn, is part of that call. */
extern XC_LOCAL __thread int profile_depth __attribute__((tls_model("initial-exec")));

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
  struct profile_call* counters = profile_call(f->call);
  add(&counters->count, 1);
  add(&counters->ticks, taken);
  if (taken > counters->longest_ticks) counters->longest_ticks = taken;
  profile_header->last_ticks = now;
  profile_header->current_call = 0;
}

static inline void leave(void) {
  if (trace_on) trace_leave(ticks_now()); /* what it took to trace the call was no computing */
  profile_depth = 0;
}

static inline uint64_t payload(int64_t count, MPI_Datatype type) {
  return count > 0 ? (uint64_t)count * type_bytes(type) : 0;
}

static inline bool is_peer(const struct group* group, int peer) { return peer >= 0 && peer < group->peers; }

/* MPI_PROC_NULL, and what MPI will refuse, is nobody. */
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

/* Where the program wants no status but a trace needs one. */
static inline MPI_Status* status_for(struct frame* f, MPI_Status* status) {
  return trace_on && status == MPI_STATUS_IGNORE ? &f->status : status;
}

static inline void moves(struct frame* f, MPI_Win window, int target, int64_t count, MPI_Datatype type) {
  const struct group* group = group_of_window(window);
  if (is_peer(group, target)) count_message(f->call, group, target, payload(count, type), BY_ONE_SIDED, 1);
}

/* Blocks of collective calls. */
static inline struct blocks even(int64_t count, MPI_Datatype type) {
  return (struct blocks){.unit = payload(count, type)};
}
#define UNEVEN(counts, type) ((struct blocks){counts, sizeof *(counts) == 8, type_bytes(type), NULL, true})
#define VARIED(counts, types) ((struct blocks){counts, sizeof *(counts) == 8, 0, types, true})

/* accounting.c */
XC_LOCAL void vector(struct frame* f, enum pattern pattern, MPI_Comm comm, int root, int64_t count,
                     MPI_Datatype type);
XC_LOCAL void commutes(struct frame* f, MPI_Op op);
XC_LOCAL void gathers(struct frame* f, MPI_Comm comm, int root, const void* out, int64_t count,
                      MPI_Datatype type, struct blocks in);
XC_LOCAL void scatters(struct frame* f, MPI_Comm comm, int root, struct blocks out, const void* in,
                       int64_t count, MPI_Datatype type);
XC_LOCAL void gathers_all(struct frame* f, MPI_Comm comm, struct blocks in);
XC_LOCAL void all_to(struct frame* f, MPI_Comm comm, const void* buffer, struct blocks out, struct blocks in);
XC_LOCAL void reduces_scattered(struct frame* f, MPI_Comm comm, struct blocks in);
XC_LOCAL void to_neighbours(struct frame* f, MPI_Comm comm, struct blocks out, struct blocks in);
XC_LOCAL void counts(struct frame* f);
XC_LOCAL void starts(struct frame* f, int count, const MPI_Request requests[]);
XC_LOCAL void frees(struct frame* f, const MPI_Request* request);
XC_LOCAL void planned(struct frame* f, enum request_kind kind, const MPI_Request* request);
XC_LOCAL void planned_together(struct frame* f, const MPI_Request* request);

/* following.c: of these the trace alone has use */
XC_LOCAL void sent(struct frame* f);
XC_LOCAL void received(struct frame* f, const MPI_Status* status);
XC_LOCAL void exchanged(struct frame* f, const MPI_Status* status);
XC_LOCAL void together(struct frame* f);
XC_LOCAL void started(struct frame* f, enum request_kind kind, const MPI_Request* request);
XC_LOCAL void started_exchange(struct frame* f, const MPI_Request* request);
XC_LOCAL void started_together(struct frame* f, const MPI_Request* request);
XC_LOCAL void matched(MPI_Comm comm, const MPI_Message* message, const MPI_Status* status);
XC_LOCAL void receives_matched(struct frame* f, const MPI_Message* message, int64_t count, MPI_Datatype type);
XC_LOCAL void watches(struct frame* f, int count, const MPI_Request requests[]);
XC_LOCAL MPI_Status* statuses_for(int count, MPI_Status* statuses);
XC_LOCAL void completed(int index, const MPI_Status* status);
XC_LOCAL void completed_all(int count, const MPI_Status* statuses);
XC_LOCAL void completed_any(int index, const MPI_Status* status);
XC_LOCAL void completed_some(int count, const int indices[], const MPI_Status* statuses);

#endif
