/* Preloaded into a program, appends what it does to files to the file that RECORD_WRITES names: the calls
 * that core/src/base/file.cpp uses, and writes to standard output. tools/power_loss.py replays them.
 *
 * A record is a struct entry, then `text_bytes` of paths (two of a rename, separated by NUL) and
 * `data_bytes`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPENED = 'o', WRITTEN = 'w', SYNCED = 's', RENAMED = 'r', MADE = 'm', REMOVED = 'u', SAID = 'p' };

struct entry {
  int64_t kind, inode, offset, flags, text_bytes, data_bytes;
};

static int log_file(void) {
  static int fd = -2;
  if (fd == -2) {
    int (*open_file)(const char*, int, ...) = dlsym(RTLD_NEXT, "open");
    const char* path = getenv("RECORD_WRITES");
    fd = path == NULL ? -1 : open_file(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  }
  return fd;
}

static void put(const void* data, size_t bytes) {
  ssize_t (*write_bytes)(int, const void*, size_t) = dlsym(RTLD_NEXT, "write");
  while (bytes > 0) {
    const ssize_t written = write_bytes(log_file(), data, bytes);
    if (written <= 0) abort(); /* a gap in the record would be taken for a loss */
    data = (const char*)data + written;
    bytes -= (size_t)written;
  }
}

static void record(int kind, int fd, int64_t offset, int64_t flags, const char* text, size_t text_bytes,
                   const void* data, size_t data_bytes) {
  if (log_file() < 0) return;
  struct stat status = {0};
  if (fd >= 0) fstat(fd, &status);
  const struct entry entry = {kind,  (int64_t)status.st_ino, offset,
                              flags, (int64_t)text_bytes,    (int64_t)data_bytes};
  put(&entry, sizeof entry);
  put(text, text_bytes);
  put(data, data_bytes);
}

static int opened(const char* name, const char* path, int flags, mode_t mode) {
  int (*open_file)(const char*, int, ...) = dlsym(RTLD_NEXT, name);
  const int is_new = access(path, F_OK) != 0;
  const int fd = open_file(path, flags, mode);
  if (fd >= 0 && (flags & O_CREAT || flags & O_DIRECTORY))
    record(OPENED, fd, 0, is_new ? 1 : flags & O_TRUNC ? 2 : 0, path, strlen(path), NULL, 0);
  return fd;
}

#define OPEN(name)                             \
  int name(const char* path, int flags, ...) { \
    mode_t mode = 0;                           \
    if (flags & O_CREAT) {                     \
      va_list rest;                            \
      va_start(rest, flags);                   \
      mode = va_arg(rest, mode_t);             \
      va_end(rest);                            \
    }                                          \
    return opened(#name, path, flags, mode);   \
  }
OPEN(open)
OPEN(open64)

#define PWRITE(name)                                                                 \
  ssize_t name(int fd, const void* data, size_t bytes, off_t offset) {               \
    ssize_t (*call)(int, const void*, size_t, off_t) = dlsym(RTLD_NEXT, #name);      \
    const ssize_t written = call(fd, data, bytes, offset);                           \
    if (written > 0) record(WRITTEN, fd, offset, 0, NULL, 0, data, (size_t)written); \
    return written;                                                                  \
  }
PWRITE(pwrite)
PWRITE(pwrite64)

ssize_t write(int fd, const void* data, size_t bytes) {
  ssize_t (*call)(int, const void*, size_t) = dlsym(RTLD_NEXT, "write");
  const ssize_t written = call(fd, data, bytes);
  if (fd == STDOUT_FILENO && written > 0) record(SAID, -1, 0, 0, NULL, 0, data, (size_t)written);
  return written;
}

#define SYNC(name)                                               \
  int name(int fd) {                                             \
    int (*call)(int) = dlsym(RTLD_NEXT, #name);                  \
    const int failed = call(fd);                                 \
    if (failed == 0) record(SYNCED, fd, 0, 0, NULL, 0, NULL, 0); \
    return failed;                                               \
  }
SYNC(fdatasync)
SYNC(fsync)

int rename(const char* from, const char* to) {
  int (*call)(const char*, const char*) = dlsym(RTLD_NEXT, "rename");
  const int failed = call(from, to);
  if (failed == 0) {
    const size_t first = strlen(from) + 1, second = strlen(to);
    char* both = malloc(first + second);
    if (both == NULL) abort();
    memcpy(both, from, first);
    memcpy(both + first, to, second);
    record(RENAMED, -1, 0, 0, both, first + second, NULL, 0);
    free(both);
  }
  return failed;
}

int mkdir(const char* path, mode_t mode) {
  int (*call)(const char*, mode_t) = dlsym(RTLD_NEXT, "mkdir");
  const int failed = call(path, mode);
  if (failed == 0) record(MADE, -1, 0, 0, path, strlen(path), NULL, 0);
  return failed;
}

int unlink(const char* path) {
  int (*call)(const char*) = dlsym(RTLD_NEXT, "unlink");
  const int failed = call(path);
  if (failed == 0) record(REMOVED, -1, 0, 0, path, strlen(path), NULL, 0);
  return failed;
}
