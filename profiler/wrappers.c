/* Defines every line of calls.def as a function MPI_X, which replaces MPI's own and calls it as PMPI_X. */
#include "accounting.h"

/* Returns true for persistent operations, which are remembered; other work after a call is for the trace
 * only. */
static inline bool keeps(enum profile_kind kind) {
  return kind == PERSISTENT || kind == PERSISTENT_COLLECTIVE || kind == PERSISTENT_NEIGHBOUR;
}

#define EXPORTED __attribute__((visibility("default")))

/* Looks up MPI's own function at its first call: launchers and shells load this library without any MPI, and
 * older MPIs lack some functions. Also exports the PMPI name, for Fortran libraries (loading.c). */
#define OWN(symbol, parameters, arguments)                                               \
  typedef __typeof__(PMPI_##symbol) type_##symbol;                                       \
  static inline type_##symbol* own_##symbol(const void* caller) {                        \
    static type_##symbol* found;                                                         \
    if (found == NULL) found = (type_##symbol*)function_of_mpi("PMPI_" #symbol, caller); \
    return found;                                                                        \
  }                                                                                      \
  EXPORTED int PMPI_##symbol parameters {                                                \
    if (from_fortran(__builtin_return_address(0))) return MPI_##symbol arguments;        \
    return CALL_MPI(symbol) arguments;                                                   \
  }
#define CALL_MPI(symbol) own_##symbol(__builtin_return_address(0))
#define WRAP(symbol, id, kind, parameters, arguments, before, after) \
  OWN(symbol, parameters, arguments)                                 \
  EXPORTED int MPI_##symbol parameters {                             \
    if (!enter()) return CALL_MPI(symbol) arguments;                 \
    struct frame frame, *const f = &frame;                           \
    f->call = id;                                                    \
    before;                                                          \
    begin(f);                                                        \
    const int result = CALL_MPI(symbol) arguments;                   \
    end(f);                                                          \
    if ((trace_on || keeps(kind)) && result == MPI_SUCCESS) {        \
      after;                                                         \
    }                                                                \
    leave();                                                         \
    return result;                                                   \
  }
#define CALL_OWN(name, kind)
#define CALL(name, kind, parameters, arguments, before, after) \
  WRAP(name, CALL_##name, kind, parameters, arguments, before, after)
#define COUNT int
#define OFFSET int
#define CALL_C CALL
#include "calls.def"
#undef CALL
#undef CALL_C
#undef COUNT
#undef OFFSET

#if MPI_VERSION >= 4
#define CALL(name, kind, parameters, arguments, before, after)
#define CALL_C(name, kind, parameters, arguments, before, after) \
  WRAP(name##_c, CALL_##name, kind, parameters, arguments, before, after)
#define COUNT MPI_Count
#define OFFSET MPI_Aint
#include "calls.def"
#endif

OWN(Init, (int* argc, char*** argv), (argc, argv))
OWN(Init_thread, (int* argc, char*** argv, int required, int* provided), (argc, argv, required, provided))
OWN(Finalize, (void), ())
OWN(Abort, (MPI_Comm comm, int code), (comm, code))

/* Counts the time to make the file as part of MPI's start, not as the program's computing. */
static void opened(int call, int result, int level) {
  if (result != MPI_SUCCESS) return;
  profile_open(level);
  if (!profile_on) return;
  const uint64_t ended = ticks_now();
  if (profile_counting) {
    struct profile_call* counters = &profile_calls[call];
    counters->count = 1;
    counters->ticks = counters->longest_ticks = ended - profile_header->begin_ticks;
  }
  profile_header->last_ticks = ended;
  trace_leave(ended);
}

EXPORTED int MPI_Init(int* argc, char*** argv) {
  profile_begin();
  const int result = CALL_MPI(Init)(argc, argv);
  opened(CALL_Init, result, MPI_THREAD_SINGLE);
  return result;
}

EXPORTED int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  profile_begin();
  const int result = CALL_MPI(Init_thread)(argc, argv, required, provided);
  opened(CALL_Init_thread, result, result == MPI_SUCCESS ? *provided : MPI_THREAD_SINGLE);
  return result;
}

/* MPI's own does nothing, and cannot be called with the program's further arguments. */
EXPORTED int MPI_Pcontrol(const int level, ...) {
  profile_section(level);
  return MPI_SUCCESS;
}

EXPORTED int PMPI_Pcontrol(const int level, ...) {
  if (from_fortran(__builtin_return_address(0))) profile_section(level);
  return MPI_SUCCESS;
}

EXPORTED int MPI_Finalize(void) {
  if (!enter()) return CALL_MPI(Finalize)();
  struct frame frame = {.call = CALL_Finalize};
  begin(&frame);
  if (trace_on) trace_close(true);
  const int result = CALL_MPI(Finalize)();
  end(&frame);
  leave();
  profile_close();
  return result;
}

/* MPI may kill this process, so records the abort before the call. */
EXPORTED int MPI_Abort(MPI_Comm comm, int code) {
  if (enter()) {
    struct frame frame = {.call = CALL_Abort};
    begin(&frame);
    profile_header->error_code = (uint32_t)code;
    profile_header->state = ABORTED;
    trace_close(false);
  }
  return CALL_MPI(Abort)(comm, code);
}
