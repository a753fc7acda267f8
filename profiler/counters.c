/* The counters: one mapped file per rank, so that counts survive any end of the process. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile.h"

#define FOLDER_VARIABLE "CROSSCUT_PROFILE_FOLDER"
#define SECTION_VARIABLE "CROSSCUT_PROFILE_SECTION"
#define PROBES 16U

struct profile_header* profile_header;
bool profile_on, profile_threaded, profile_tsc, profile_counting = true;

struct profile_call* profile_calls;
static bool by_section;
static struct profile_peer* peers;
static uint32_t peer_mask;

static const struct profile_name names[] = {
#define CALL_OWN(name, kind) {"MPI_" #name, kind},
#define CALL(name, kind, parameters, arguments, before, after) {"MPI_" #name, kind},
#define CALL_C CALL
#include "calls.def"
#undef CALL_OWN
#undef CALL
#undef CALL_C
};

void complain(const char* text, const char* detail) {
  fprintf(stderr, "crosscut profile: %s%s%s\n", text, detail != NULL ? ": " : "",
          detail != NULL ? detail : "");
}

/* Returns the size class of a message: the number of decimal digits of its bytes; 0 for 0 bytes. */
static unsigned decade_of(uint64_t bytes) {
  static const uint64_t powers[] = {1,           10,           100,          1000,      10000,
                                    100000,      1000000,      10000000,     100000000, 1000000000,
                                    10000000000, 100000000000, 1000000000000};
  if (bytes == 0) return 0;
  const unsigned bits = 63U - (unsigned)__builtin_clzll(bytes);
  const unsigned guess = (bits * 1233U) >> 12; /* log10(2) = 1233/4096, for up to 40 bits */
  if (guess >= PROFILE_DECADES - 2) return PROFILE_DECADES - 1;
  return guess + (bytes >= powers[guess]) + (bytes >= powers[guess + 1]);
}

static void count_amount(struct profile_amount* amount, uint64_t messages, uint64_t bytes) {
  add(&amount->messages, messages);
  add(&amount->bytes, bytes);
}

/* Returns the peer's slot. Peers without one share the last slot. */
static struct profile_peer* peer_slot(int rank) {
  const uint64_t key = (uint64_t)rank + 1;
  if (rank >= 0) {
    for (uint32_t probe = 0; probe < PROBES; probe++) {
      struct profile_peer* slot = &peers[((uint32_t)rank + probe) & peer_mask];
      const uint64_t found = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);
      if (found == key) return slot;
      if (found != 0) continue;
      uint64_t empty = 0;
      if (__atomic_compare_exchange_n(&slot->key, &empty, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return slot;
      if (empty == key) return slot;
    }
  }
  return &peers[peer_mask + 1];
}

void count_message(int call, const struct group* group, int peer, uint64_t bytes, enum profile_way way,
                   uint64_t times) {
  if (!profile_counting) return;
  const unsigned decade = decade_of(bytes);
  struct profile_call* counters = &profile_calls[call];
  count_amount(way == BY_COLLECTIVE ? &counters->decomposed[decade] : &counters->as_called[decade], times,
               times * bytes);
  count_amount(&peer_slot(world_rank(group, peer))->by[way], times, times * bytes);
}

void count_collective(int call, uint64_t bytes) {
  if (profile_counting) count_amount(&profile_calls[call].as_called[decade_of(bytes)], 1, bytes);
}

/* Returns true if the kernel trusts the processor's counter. Reading it takes a third of clock_gettime's
 * time. */
static bool tsc_is_good(void) {
#if defined(__x86_64__)
  char name[16] = "";
  const int file =
      open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t got = read(file, name, sizeof name - 1);
  close(file);
  return got >= 3 && strncmp(name, "tsc", 3) == 0;
#else
  return false;
#endif
}

void profile_clock_pair(uint64_t* ticks, uint64_t* nanoseconds) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  *ticks = ticks_now();
  *nanoseconds = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
  if (!profile_tsc) *ticks = *nanoseconds;
}

static uint64_t begin_ticks, begin_nanoseconds;

void profile_begin(void) {
  profile_tsc = tsc_is_good();
  profile_clock_pair(&begin_ticks, &begin_nanoseconds);
}

/* Returns true if this library was compiled for the program's MPI: other MPIs' handles have other types. */
static bool same_mpi(const char** library) {
  const char* file = library_of_mpi();
  *library = file != NULL ? file : "";
  if (file == NULL) return true;
#if defined(MPI_ABI_VERSION)
  return strstr(file, "mpi_abi") != NULL;
#elif defined(CROSSCUT_MPI_LIBRARY)
  return strstr(file, CROSSCUT_MPI_LIBRARY) != NULL;
#else
  return strstr(file, "mpi_abi") == NULL;
#endif
}

static uint32_t slots_for(int ranks) {
  uint32_t slots = 16;
  while (slots < PROFILE_MOST_PEERS && slots < (uint32_t)ranks) slots *= 2;
  return slots;
}

static size_t up_to_8(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

static struct profile_header layout(int rank, int ranks) {
  struct profile_header header = {.version = PROFILE_VERSION, .header_bytes = sizeof header};
  memcpy(header.magic, PROFILE_MAGIC, sizeof header.magic);
  header.rank = (uint32_t)rank;
  header.ranks = (uint32_t)ranks;
  header.calls = CALL_COUNT;
  header.decades = PROFILE_DECADES;
  header.peer_slots = slots_for(ranks) + 1;
  header.names_offset = up_to_8(sizeof header);
  header.calls_offset = header.names_offset + up_to_8(CALL_COUNT * sizeof(struct profile_name));
  header.peers_offset = header.calls_offset + CALL_COUNT * sizeof(struct profile_call);
  header.file_bytes = header.peers_offset + header.peer_slots * sizeof(struct profile_peer);
  return header;
}

/* Leaves a file that tells crosscut why profiles are missing. Returns false if it cannot. */
static bool leave_note(const char* folder, const char* name, const char* text) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return false;
  const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const bool written = write(file, text, strlen(text)) == (ssize_t)strlen(text);
  close(file);
  return written;
}

/* Maps the rank's file; returns NULL, after a complaint, if it cannot. Allocates all blocks at once: a disk
 * that fills up later would end the program with SIGBUS. */
static char* map_file(const char* folder, int rank, size_t bytes) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/rank-%06d.profile", folder, rank) >= (int)sizeof path) return NULL;
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) {
    const bool again = errno == EEXIST;
    complain(again ? "not profiled: this command has already run an MPI job; profile its jobs one "
                     "by one. The file exists"
                   : "not profiled: cannot make a file",
             path);
    if (again) leave_note(folder, PROFILE_AGAIN, "");
    return NULL;
  }
  const int refused = posix_fallocate(file, 0, (off_t)bytes);
  void* at = refused == 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  close(file);
  if (at != MAP_FAILED) return at;
  unlink(path);
  complain("not profiled: no room for the file", path);
  return NULL;
}

static void describe(struct profile_header* header, const char* library, int thread_level) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  header->begin_unix_nanoseconds = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
  header->process = (uint64_t)getpid();
  header->thread_level = (uint32_t)(thread_level == MPI_THREAD_MULTIPLE     ? 3
                                    : thread_level == MPI_THREAD_SERIALIZED ? 2
                                    : thread_level == MPI_THREAD_FUNNELED   ? 1
                                                                            : 0);
  gethostname(header->host, sizeof header->host - 1);
  if (readlink("/proc/self/exe", header->program, sizeof header->program - 1) < 0) header->program[0] = '\0';
  snprintf(header->library, sizeof header->library, "%s", library);
  header->begin_ticks = begin_ticks;
  header->begin_nanoseconds = begin_nanoseconds;
  profile_clock_pair(&header->later_ticks, &header->later_nanoseconds);
  header->last_ticks = header->later_ticks;
}

void profile_open(int thread_level) {
  const char* folder = getenv(FOLDER_VARIABLE);
  const char* library;
  int rank = 0, ranks = 1;
  if (folder == NULL || profile_header != NULL) return;
  const bool same = same_mpi(&library);
  if (!same) { /* crosscut says so once, not each rank */
    if (!leave_note(folder, PROFILE_OTHER_MPI, library)) {
      complain("not profiled: this profiler was built for another MPI than the program's", library);
    }
    return;
  }
  if (!helpers_are_there()) {
    complain(
        "not profiled: with LD_BIND_NOW set, an MPI that is loaded later cannot be found; unset LD_BIND_NOW",
        library);
    return;
  }
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const struct profile_header header = layout(rank, ranks);
  char* at = map_file(folder, rank, header.file_bytes);
  if (at == NULL) return;
  memcpy(at + header.names_offset, names, sizeof names);
  profile_calls = (struct profile_call*)(void*)(at + header.calls_offset);
  peers = (struct profile_peer*)(void*)(at + header.peers_offset);
  peer_mask = header.peer_slots - 2;
  profile_header = (struct profile_header*)(void*)at;
  *profile_header = header;
  describe(profile_header, library, thread_level);
  profile_threaded = thread_level == MPI_THREAD_MULTIPLE;
  groups_open();
  trace_open(folder, rank, ranks);
  by_section = getenv(SECTION_VARIABLE) != NULL;
  if (by_section) {
    profile_counting = false;
    profile_header->paused_since = begin_ticks;
  }
  profile_header->state = RUNNING;
  profile_on = true;
}

/* MPI_Pcontrol, if only sections count: 0 pauses counting, 1 continues it. Other levels have no meaning here
 * (MPI standard, chapter "Tool Support", leaves them to the profiler). */
void profile_section(int level) {
  if (!profile_on || !by_section) return;
  const uint64_t now = ticks_now();
  if (level == 0 && profile_counting) {
    profile_counting = false;
    profile_header->paused_since = now;
  } else if (level == 1) {
    if (!profile_counting) profile_header->paused_ticks += now - profile_header->paused_since;
    profile_header->paused_since = 0;
    profile_header->sections++;
    profile_counting = true;
  }
}

void profile_close(void) {
  profile_on = false;
  profile_header->current_call = 0;
  profile_header->state = FINALIZED;
  profile_clock_pair(&profile_header->later_ticks, &profile_header->later_nanoseconds);
  profile_header->last_ticks = profile_header->later_ticks;
}
