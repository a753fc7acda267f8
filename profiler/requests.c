/* Table of requests: persistent ones and, with a trace, those in progress. Open addressing by handle. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "profile.h"

#define FIRST_PLACES 256U
#define GONE 1U /* no MPI has such a handle */

static struct request* places;
static size_t place_count;
static atomic_size_t used; /* includes places that are GONE; changes only under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t home(uint64_t handle) {
  return (size_t)((handle * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (place_count - 1);
}

/* Returns the handle's place, or the empty place where it belongs. The table must exist. */
static struct request* slot_of(uint64_t handle) {
  size_t at = home(handle);
  while (places[at].handle != handle && places[at].handle != 0) at = (at + 1) & (place_count - 1);
  return &places[at];
}

/* Like slot_of; NULL if there is no table. */
static struct request* place_of(uint64_t handle) { return places == NULL ? NULL : slot_of(handle); }

/* Rebuilds a table that is three quarters full, without entries that are gone. Returns false if another entry
 * does not fit for lack of memory; no entry is lost then. */
static bool make_room(void) {
  if (places != NULL && 4 * used < 3 * place_count) return true;
  struct request* old = places;
  const size_t old_count = place_count;
  size_t kept = 0;
  for (size_t i = 0; old != NULL && i < old_count; i++) kept += old[i].handle > GONE;
  const size_t count = old_count == 0 ? FIRST_PLACES : 2 * kept >= old_count ? 2 * old_count : old_count;
  struct request* fresh = calloc(count, sizeof *fresh);
  if (fresh == NULL) return places != NULL && used + 1 < place_count;
  places = fresh;
  place_count = count;
  used = kept;
  for (size_t i = 0; old != NULL && i < old_count; i++)
    if (old[i].handle > GONE) *slot_of(old[i].handle) = old[i];
  free(old);
  return true;
}

static void drop(struct request* place) {
  if (place->message.group != NULL) let_go(place->message.group);
  if (place->collective.group != NULL) let_go(place->collective.group);
  place->handle = GONE;
}

void remember(uint64_t handle, const struct request* what) {
  pthread_mutex_lock(&lock);
  if (make_room()) {
    struct request* place = place_of(handle);
    if (place->handle == handle)
      drop(place); /* freed without our knowledge, and its handle reused */
    else
      used++;
    *place = *what;
    place->handle = handle;
    if (place->message.group != NULL) hold(place->message.group);
    if (place->collective.group != NULL) hold(place->collective.group);
  }
  pthread_mutex_unlock(&lock);
}

bool recall(uint64_t handle, struct request* found) {
  if (atomic_load_explicit(&used, memory_order_relaxed) == 0) return false; /* usually: so take no lock */
  pthread_mutex_lock(&lock);
  const struct request* place = place_of(handle);
  const bool there = place != NULL && place->handle == handle && handle > GONE;
  if (there) *found = *place;
  pthread_mutex_unlock(&lock);
  return there;
}

void restart(uint64_t handle, uint64_t serial) {
  pthread_mutex_lock(&lock);
  struct request* place = place_of(handle);
  if (place != NULL && place->handle == handle) place->serial = serial;
  pthread_mutex_unlock(&lock);
}

void forget(uint64_t handle) {
  pthread_mutex_lock(&lock);
  struct request* place = place_of(handle);
  if (place != NULL && place->handle == handle && handle > GONE) drop(place);
  pthread_mutex_unlock(&lock);
}
