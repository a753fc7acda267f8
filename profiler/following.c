/* Follows messages and requests for the trace: the status of a receive from any rank names its source, and
 * the wait that completes a request marks its end. */
#include <stdlib.h>

#include "profile.h"

#define NO_ONE (-1)
#define CANCELLED (-2)

/* The requests of the wait in progress, in the program's order. */
static struct request* watched;
static size_t watched_room;
static MPI_Status* spare;
static size_t spare_room;
static int watching_call;

static int world_of(const struct message* message, int peer) {
  return is_peer(message->group, peer) ? world_rank(message->group, peer) : NO_ONE;
}

void sent(struct frame* f) {
  if (is_peer(f->message.group, f->message.peer)) trace_message(T_SEND, f->call, &f->message);
}

void received(struct frame* f, const MPI_Status* status) {
  struct message actual = f->message;
  actual.peer = status->MPI_SOURCE;
  actual.tag = status->MPI_TAG;
  if (is_peer(actual.group, actual.peer)) trace_message(T_RECEIVE, f->call, &actual);
}

void exchanged(struct frame* f, const MPI_Status* status) {
  struct message actual = f->second;
  actual.peer = status->MPI_SOURCE;
  actual.tag = status->MPI_TAG;
  uint64_t in = 0, out = 0;
  if (is_peer(actual.group, actual.peer)) in = trace_message(T_START_RECEIVE, f->call, &actual);
  if (is_peer(f->message.group, f->message.peer)) out = trace_message(T_START_SEND, f->call, &f->message);
  if (out != 0) trace_complete(f->call, out, NO_ONE, 0);
  if (in != 0) trace_complete(f->call, in, world_of(&actual, actual.peer), actual.tag);
}

void together(struct frame* f) { trace_collective(f->call, &f->collective); }

void started(struct frame* f, enum request_kind kind, const MPI_Request* request) {
  if (f->message.peer == MPI_PROC_NULL || f->message.group == NULL) return;
  struct request what = {.kind = kind, .call = f->call, .message = f->message};
  what.serial = trace_message(kind == SENDING ? T_START_SEND : T_START_RECEIVE, f->call, &f->message);
  remember(request_handle(request), &what);
}

void started_exchange(struct frame* f, const MPI_Request* request) {
  struct request what = {.kind = RECEIVING, .call = f->call, .message = f->second, .second = f->message};
  if (f->second.peer != MPI_PROC_NULL) what.serial = trace_message(T_START_RECEIVE, f->call, &f->second);
  if (is_peer(f->message.group, f->message.peer))
    what.second_serial = trace_message(T_START_SEND, f->call, &f->message);
  remember(request_handle(request), &what);
}

void started_together(struct frame* f, const MPI_Request* request) {
  const struct request what = {.kind = TOGETHER, .call = f->call, .collective = f->collective};
  remember(request_handle(request), &what);
}

/* Matched messages are kept beside the requests, under inverted handles, which never equal a request's. */
static uint64_t message_handle(const MPI_Message* message) {
  uint64_t handle = 0;
  memcpy(&handle, message, sizeof *message);
  return ~handle;
}

void matched(MPI_Comm comm, const MPI_Message* message, const MPI_Status* status) {
  const struct request what = {.kind = RECEIVING,
                               .message = {group_of(comm), status->MPI_SOURCE, status->MPI_TAG, 0}};
  remember(message_handle(message), &what);
}

void receives_matched(struct frame* f, const MPI_Message* message, int64_t count, MPI_Datatype type) {
  struct request found;
  f->message = (struct message){NULL, MPI_PROC_NULL, 0, 0};
  if (!trace_on) return;
  const uint64_t handle = message_handle(message);
  if (!recall(handle, &found)) return;
  forget(handle);
  f->message = found.message;
  f->message.bytes = payload(count, type);
}

void watches(struct frame* f, int count, const MPI_Request requests[]) {
  if (!trace_on) return;
  const size_t wanted = count > 0 ? (size_t)count : 0;
  watching_call = f->call;
  if (wanted > watched_room) {
    struct request* larger = realloc(watched, 2 * wanted * sizeof *watched);
    if (larger == NULL) return;
    watched = larger;
    watched_room = 2 * wanted;
  }
  for (size_t i = 0; i < wanted; i++) {
    const uint64_t handle = request_handle(&requests[i]);
    if (!recall(handle, &watched[i])) watched[i] = (struct request){.kind = NO_REQUEST};
  }
}

MPI_Status* statuses_for(int count, MPI_Status* statuses) {
  if (!trace_on || statuses != MPI_STATUSES_IGNORE || count <= 0) return statuses;
  if ((size_t)count > spare_room) {
    MPI_Status* larger = realloc(spare, 2 * (size_t)count * sizeof *spare);
    if (larger == NULL) return statuses;
    spare = larger;
    spare_room = 2 * (size_t)count;
  }
  return spare;
}

static void completed_receive(const struct request* what, const MPI_Status* status) {
  int cancelled = 0;
  PMPI_Test_cancelled(status, &cancelled);
  trace_complete(watching_call, what->serial,
                 cancelled ? CANCELLED : world_of(&what->message, status->MPI_SOURCE), status->MPI_TAG);
}

void completed(int index, const MPI_Status* status) {
  if (index < 0 || (size_t)index >= watched_room) return;
  const struct request* what = &watched[index];
  if (what->kind == NO_REQUEST) return;
  /* A wait may also name a persistent request that was not started. */
  const bool under_way = !what->persistent || what->serial != 0;
  if (what->kind == TOGETHER && under_way) trace_collective(what->call, &what->collective);
  if (what->second_serial != 0) trace_complete(watching_call, what->second_serial, NO_ONE, 0);
  if (what->kind == SENDING && what->serial != 0) trace_complete(watching_call, what->serial, NO_ONE, 0);
  if (what->kind == RECEIVING && what->serial != 0 && status != MPI_STATUS_IGNORE)
    completed_receive(what, status);
  if (what->persistent)
    restart(what->handle, 0); /* until it is started again */
  else
    forget(what->handle);
}

void completed_all(int count, const MPI_Status* statuses) { completed_some(count, NULL, statuses); }

void completed_any(int index, const MPI_Status* status) {
  if (index != MPI_UNDEFINED) completed(index, status);
}

void completed_some(int count, const int indices[], const MPI_Status* statuses) {
  if (count == MPI_UNDEFINED) return;
  for (int i = 0; i < count; i++)
    completed(indices != NULL ? indices[i] : i,
              statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
}
