/* Like Python with mpi4py: the program itself has no MPI, and later loads, with local symbols, a library that
 * does. Runs main of the library named first. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void* found = library != NULL ? dlsym(library, "main") : NULL;
  int (*run)(int, char**);
  if (found == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  memcpy(&run, &found, sizeof run);
  return run(argc - 1, argv + 1);
}
