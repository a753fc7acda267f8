/* Finds MPI's own functions, and recognises callers of PMPI names.
 *
 * Usually MPI is among the libraries that a program is linked with. An interpreter's extension (mpi4py) loads
 * it later, visible only to that extension, and MPI is then looked up from there. Open MPI's Fortran
 * functions, and some of MPICH's, call PMPI_X instead of MPI_X (issues 3954 of open-mpi/ompi, 2209 and 7479
 * of pmodels/mpich), so those names are replaced, too. All other callers of PMPI_X bypass the profiler. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>

#include "profile.h"

#define MOST_FORTRAN 8

static struct { uintptr_t begin, end; } fortran[MOST_FORTRAN];
static int fortran_count;
static pthread_once_t looked = PTHREAD_ONCE_INIT;
static void* first_found;
static bool came_late;

static bool is_fortran_s(const char* name) {
  static const char* const libraries[] = {"libmpi_mpifh", "libmpi_usempi", "libmpifort", "libfmpich"};
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
    if (strncmp(name, libraries[i], strlen(libraries[i])) == 0) return true;
  return false;
}

static int look_at(struct dl_phdr_info* object, size_t bytes, void* context) {
  (void)bytes, (void)context;
  const char* slash = strrchr(object->dlpi_name, '/');
  const char* name = slash != NULL ? slash + 1 : object->dlpi_name;
  if (!is_fortran_s(name)) return 0;
  for (int i = 0; i < object->dlpi_phnum && fortran_count < MOST_FORTRAN; i++) {
    if (object->dlpi_phdr[i].p_type != PT_LOAD || (object->dlpi_phdr[i].p_flags & PF_X) == 0) continue;
    fortran[fortran_count].begin = (uintptr_t)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    fortran[fortran_count].end = fortran[fortran_count].begin + (uintptr_t)object->dlpi_phdr[i].p_memsz;
    fortran_count++;
  }
  return 0;
}

static void look(void) { dl_iterate_phdr(look_at, NULL); }

bool from_fortran(const void* caller) {
  pthread_once(&looked, look);
  for (int i = 0; i < fortran_count; i++)
    if ((uintptr_t)caller >= fortran[i].begin && (uintptr_t)caller < fortran[i].end) return true;
  return false;
}

/* Looks among the libraries that the caller's library needs. If found there, makes MPI visible to all:
 * functions that this library calls without replacing them (weak in profile.h) must be found as well. */
static void* found_beside(const void* caller, const char* name) {
  Dl_info info;
  if (dladdr(caller, &info) == 0 || info.dli_fname == NULL) return NULL;
  void* library = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  void* found = library != NULL ? dlsym(library, name) : NULL;
  if (found != NULL && dladdr(found, &info) != 0)
    dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY | RTLD_GLOBAL);
  return found;
}

any_function* function_of_mpi(const char* name, const void* caller) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == NULL && (found = found_beside(caller, name)) != NULL) came_late = true;
  if (found == NULL) {
    complain("the program's MPI has no function", name);
    abort();
  }
  if (first_found == NULL) first_found = found;
  any_function* function;
  memcpy(&function, &found, sizeof function); /* ISO C has no cast for this */
  return function;
}

const char* library_of_mpi(void) {
  Dl_info info;
  return first_found != NULL && dladdr(first_found, &info) != 0 ? info.dli_fname : NULL;
}

/* Under LD_BIND_NOW, weak symbols of profile.h were looked up before MPI was loaded, and not found. */
bool helpers_are_there(void) {
  const char* at_once = getenv("LD_BIND_NOW");
  return !came_late || at_once == NULL || at_once[0] == '\0';
}
