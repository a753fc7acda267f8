/* A rank's profile on disk (docs/reference/profile-format.md): little-endian, all parts 8-byte aligned. */
#ifndef CROSSCUT_PROFILE_FILE_H
#define CROSSCUT_PROFILE_FILE_H

#include <stdint.h>

#define PROFILE_MAGIC "xc-prof\n"
#define TRACE_MAGIC "xc-trace"
#define PROFILE_VERSION 2U
#define TRACE_VERSION 1U
/* Size classes: 0 bytes; 1 to 9; 10 to 99; … ; 10^12 and more. */
#define PROFILE_DECADES 14U
/* The most peers with counters of their own; all others share one slot. */
#define PROFILE_MOST_PEERS 8192U
/* Name of a file that a job makes in a folder in which another job has left its profiles. */
#define PROFILE_AGAIN "again"
/* Name of a file that names the program's MPI library, for which this profiler was not built. */
#define PROFILE_OTHER_MPI "other-mpi"

enum profile_kind {
  SETUP,
  POINT,
  PERSISTENT,
  WAIT,
  PROBE,
  COLLECTIVE,
  NEIGHBOUR,
  ONE_SIDED,
  SYNCHRONISATION,
  GROUPS,
  PERSISTENT_COLLECTIVE,
  PERSISTENT_NEIGHBOUR
};
enum profile_state { STARTING, RUNNING, FINALIZED, ABORTED };
/* How bytes reach a peer. */
enum profile_way { BY_POINT, BY_ONE_SIDED, BY_COLLECTIVE, WAYS };

struct profile_header {
  char magic[8];
  uint32_t version, header_bytes;
  uint32_t rank, ranks;
  uint32_t calls, decades;
  uint32_t peer_slots, state;
  uint32_t thread_level, error_code; /* error_code: of MPI_Abort */
  uint64_t names_offset, calls_offset, peers_offset, file_bytes;
  uint64_t begin_ticks, begin_nanoseconds; /* one moment on both clocks; nanoseconds of CLOCK_MONOTONIC */
  uint64_t later_ticks, later_nanoseconds; /* a later moment, to convert ticks to seconds */
  uint64_t last_ticks;                     /* end of the last call */
  uint64_t current_ticks;                  /* beginning of the call in progress */
  uint32_t current_call, reserved;         /* 1 + its number; 0: none */
  uint64_t begin_unix_nanoseconds, process;
  char host[64], program[256], library[256];
  uint64_t sections;     /* times that counting began by MPI_Pcontrol(1) */
  uint64_t paused_ticks; /* time in which nothing was counted, without the pause in progress */
  uint64_t paused_since; /* beginning of the pause in progress, in ticks; 0: none */
};

struct profile_name {
  char name[44];
  uint32_t kind;
};

struct profile_amount {
  uint64_t messages, bytes;
};

struct profile_call {
  uint64_t count, ticks, longest_ticks, reserved;
  struct profile_amount as_called[PROFILE_DECADES];  /* messages sent; collectives: calls and their input */
  struct profile_amount decomposed[PROFILE_DECADES]; /* messages that collectives consist of */
};

/* A slot in the table of peers: open addressing by rank, without collisions if there is a slot for each. */
struct profile_peer {
  uint64_t key; /* 1 + world rank; 0: empty */
  struct profile_amount by[WAYS];
  uint64_t reserved;
};

enum trace_kind {
  T_SEND = 1,
  T_RECEIVE,
  T_START_SEND,
  T_START_RECEIVE,
  T_COMPLETE,
  T_COLLECTIVE,
  T_STEP,
  T_END
};

struct trace_header {
  char magic[8];
  uint32_t version, rank, ranks, record_bytes;
};

struct trace_record {
  uint16_t kind, call;
  int32_t peer; /* world rank; T_COLLECTIVE: the root; -1: any or none */
  int32_t tag;
  uint32_t extra; /* number of 8-byte values after the record */
  /* serial of T_COLLECTIVE: 1 if blocks vary; ticks: computing before the call */
  uint64_t group, bytes, serial, ticks;
};

#endif
