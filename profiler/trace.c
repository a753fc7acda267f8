/* Records a rank's messages and collective calls for `crosscut profile --trace`; Python converts the records
 * to SimGrid's format. Writes are buffered, so a killed program's last records are missing. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile.h"

#define TRACE_VARIABLE "CROSSCUT_PROFILE_TRACE"
#define BUFFER_BYTES 65536U

bool trace_on;

static FILE* file;
static uint64_t last_serial, left_ticks, computed_ticks;

static void check(bool is_written) {
  if (is_written) return;
  complain("the trace ends here: cannot write", strerror(errno));
  trace_on = false;
}

static void put(const void* data, size_t bytes) {
  if (trace_on) check(fwrite_unlocked(data, bytes, 1, file) == 1);
}

void trace_open(const char* folder, int rank, int ranks) {
  char path[4096];
  const char* wanted = getenv(TRACE_VARIABLE);
  if (wanted == NULL || wanted[0] == '\0') return;
  if (profile_threaded) {
    complain("no trace: the program calls MPI from several threads at once (MPI_THREAD_MULTIPLE)", NULL);
    return;
  }
  snprintf(path, sizeof path, "%s/rank-%06d.events", folder, rank);
  file = fopen(path, "wxe");
  if (file == NULL) {
    complain("no trace: cannot make the file", path);
    return;
  }
  setvbuf(file, NULL, _IOFBF, BUFFER_BYTES);
  struct trace_header header = {.version = TRACE_VERSION, .record_bytes = sizeof(struct trace_record)};
  memcpy(header.magic, TRACE_MAGIC, sizeof header.magic);
  header.rank = (uint32_t)rank;
  header.ranks = (uint32_t)ranks;
  trace_on = true;
  put(&header, sizeof header);
}

static void record(struct trace_record what, const uint64_t* numbers) {
  what.ticks = computed_ticks;
  computed_ticks = 0;
  put(&what, sizeof what);
  if (numbers != NULL) put(numbers, what.extra * sizeof *numbers);
}

void trace_close(bool complete) {
  if (!trace_on) return;
  record((struct trace_record){.kind = T_END, .peer = complete ? 1 : 0}, NULL);
  if (trace_on) check(fclose(file) == 0);
  trace_on = false;
}

/* Flushes the records when a program exits without MPI_Finalize. */
__attribute__((destructor)) static void unloaded(void) {
  if (trace_on) check(fflush(file) == 0);
}

void trace_enter(uint64_t ticks) { computed_ticks += ticks - left_ticks; }

void trace_leave(uint64_t ticks) { left_ticks = ticks; }

uint64_t trace_message(enum trace_kind kind, int call, const struct message* message) {
  const struct group* group = message->group;
  const bool known = message->peer >= 0 && message->peer < group->peers;
  record((struct trace_record){.kind = (uint16_t)kind,
                               .call = (uint16_t)call,
                               .peer = known ? world_rank(group, message->peer) : -1,
                               .tag = message->tag,
                               .group = group->id,
                               .bytes = message->bytes,
                               .serial = ++last_serial},
         NULL);
  return last_serial;
}

void trace_complete(int call, uint64_t serial, int world, int tag) {
  record(
      (struct trace_record){
          .kind = T_COMPLETE, .call = (uint16_t)call, .peer = world, .tag = tag, .serial = serial},
      NULL);
}

static void trace_step(void* context, int to, uint64_t sent_bytes, int from, uint64_t received_bytes) {
  const struct trace_record* model = context;
  const struct group* group = (const struct group*)(uintptr_t)model->serial;
  struct trace_record what = *model;
  what.peer = to >= 0 ? world_rank(group, to) : -1;
  what.tag = from >= 0 ? world_rank(group, from) : -1;
  what.bytes = sent_bytes;
  what.serial = received_bytes;
  record(what, NULL);
}

/* Returns true for calls that SimGrid replays well as a whole; it does so only for MPI_COMM_WORLD. All other
 * calls are recorded as their messages. */
static bool replayed_whole(const struct collective* what) {
  if (!what->group->everybody) return false;
  switch (what->pattern) {
    case SCATTER:
      return !what->varied;
    case REDUCE_SCATTER:
    case SCAN:
    case NEIGHBOURS:
    case ON_GRID:
      return false;
    default:
      return true;
  }
}

/* Returns the blocks of v-collectives: bytes sent to each rank, then bytes received from each. */
static uint32_t blocks_of(const struct collective* what, uint64_t** numbers) {
  const int size = what->group->size;
  const bool sends = what->varied && what->pattern == ALL_TO_ALL;
  const bool receives = what->varied && (what->pattern != GATHER || what->root == what->group->rank);
  const size_t count = (size_t)size * ((sends ? 1U : 0U) + (receives ? 1U : 0U));
  *numbers = count > 0 ? malloc(count * sizeof **numbers) : NULL;
  if (*numbers == NULL) return 0;
  uint64_t* at = *numbers;
  for (int i = 0; sends && i < size; i++) *at++ = block_bytes(&what->sends, i);
  for (int i = 0; receives && i < size; i++) *at++ = block_bytes(&what->receives, i);
  return (uint32_t)count;
}

void trace_collective(int call, const struct collective* what) {
  if (!trace_on || what->group->inter || what->group->size == 0) return;
  if (!replayed_whole(what)) {
    struct trace_record model = {.kind = T_STEP, .call = (uint16_t)call, .group = what->group->id};
    model.serial = (uint64_t)(uintptr_t)what->group;
    decompose(what, trace_step, &model);
    return;
  }
  uint64_t* numbers = NULL;
  const uint32_t extra = blocks_of(what, &numbers);
  record((struct trace_record){.kind = T_COLLECTIVE,
                               .call = (uint16_t)call,
                               .peer = what->root,
                               .tag = (int32_t)what->pattern,
                               .extra = extra,
                               .bytes = what->bytes,
                               .serial = what->varied},
         numbers);
  free(numbers);
}
