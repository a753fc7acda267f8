/* Preloaded into a program, lets a call on files below the folder FAIL_UNDER fail, as with a file server
 * (close(2), fsync(2)): FAIL_CALL is `close` or `sync`, FAIL_AFTER the number of such calls that succeed first.
 * Of closes, only those of files opened for writing count; the file is closed all the same. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long calls;

static int is_meant(const char* call, int fd) {
  const char *wanted = getenv("FAIL_CALL"), *under = getenv("FAIL_UNDER"), *after = getenv("FAIL_AFTER");
  if (wanted == NULL || under == NULL || strcmp(wanted, call) != 0) return 0;
  char name[64], path[4096];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(name, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  if (strncmp(path, under, strlen(under)) != 0) return 0;
  return atomic_fetch_add(&calls, 1) >= (after == NULL ? 0 : atol(after));
}

static int failed(void) {
  errno = EDQUOT;
  return -1;
}

int close(int fd) {
  int (*close_file)(int) = dlsym(RTLD_NEXT, "close");
  const int flags = fcntl(fd, F_GETFL);
  const int fails = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && is_meant("close", fd);
  const int result = close_file(fd);
  return fails ? failed() : result;
}

int fsync(int fd) {
  int (*sync_file)(int) = dlsym(RTLD_NEXT, "fsync");
  return is_meant("sync", fd) ? failed() : sync_file(fd);
}

int fdatasync(int fd) {
  int (*sync_file)(int) = dlsym(RTLD_NEXT, "fdatasync");
  return is_meant("sync", fd) ? failed() : sync_file(fd);
}
