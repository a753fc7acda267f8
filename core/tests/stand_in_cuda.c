// A stand-in for CUDA's driver where there is no GPU: two devices whose memory is this process's own. It lets
// the tests run what crosscut does with a GPU's memory, and says nothing about any GPU. It also answers for
// an MPI that sends from such memory, which any MPI does here.
//
// STAND_IN_CUDA_FLIPS=to or =from: copies to or from the device change a byte. STAND_IN_CUDA_NONE: there is
// no device. STAND_IN_CUDA_BYTES: no allocation is larger. It aborts on calls that a driver would not
// forgive.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Address;

enum { success = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3, no_device = 100, devices = 2 };

static int initialized, current, retained;

// What is allocated: a call on anything else, or without a context, is an error in crosscut.
enum { most = 64 };
static struct {
  unsigned char* at;
  size_t bytes;
} memory[most];

static int holds(const void* at, size_t bytes) {
  const unsigned char* first = at;
  for (int i = 0; i < most; ++i)
    if (memory[i].at != NULL && first >= memory[i].at && first + bytes <= memory[i].at + memory[i].bytes)
      return 1;
  return 0;
}

static void need(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "the stand-in for CUDA: %s\n", what);
  abort();
}

int MPIX_Query_cuda_support(void) { return 1; }

int cuInit(unsigned flags) {
  if (getenv("STAND_IN_CUDA_NONE") != NULL) return no_device;
  initialized = 1;
  return flags == 0 ? success : invalid_value;
}

int cuDriverGetVersion(int* version) {
  *version = 12040;
  return success;
}

int cuGetErrorString(int code, const char** text) {
  *text = code == not_initialized ? "initialization error"
          : code == out_of_memory ? "out of memory"
                                  : "invalid argument";
  return success;
}

int cuDeviceGetCount(int* count) {
  *count = devices;
  return initialized ? success : not_initialized;
}

int cuDeviceGet(int* device, int number) {
  *device = 100 + number;
  return number < devices ? success : invalid_value;
}

int cuDeviceGetName(char* name, int length, int device) {
  snprintf(name, (size_t)length, "stand-in %d", device);
  return success;
}

int cuDeviceGetPCIBusId(char* id, int length, int device) {
  snprintf(id, (size_t)length, "0000:%02x:00.0", (unsigned)device);
  return success;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &initialized;
  ++retained;
  return device >= 100 ? success : invalid_value;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  need(device >= 100 && retained == 1 && !current, "released a context that is not held, or is current");
  for (int i = 0; i < most; ++i) need(memory[i].at == NULL, "released a context with memory left");
  --retained;
  return success;
}

int cuCtxSetCurrent(void* context) {
  current = context != NULL;
  return success;
}

int cuMemAlloc_v2(Address* at, size_t bytes) {
  need(current, "memory without a context");
  const char* room = getenv("STAND_IN_CUDA_BYTES");
  if (room != NULL && bytes > strtoull(room, NULL, 10)) return out_of_memory;
  for (int i = 0; i < most; ++i) {
    if (memory[i].at != NULL) continue;
    memory[i].at = malloc(bytes);
    memory[i].bytes = bytes;
    *at = (Address)memory[i].at;
    return success;
  }
  return out_of_memory;
}

int cuMemFree_v2(Address at) {
  need(current && at != 0, "freed nothing, or without a context");
  for (int i = 0; i < most; ++i) {
    if ((Address)memory[i].at != at) continue;
    free(memory[i].at);
    memory[i].at = NULL;
    return success;
  }
  need(0, "freed what is not allocated");
  return invalid_value;
}

int cuMemsetD8_v2(Address at, unsigned char value, size_t bytes) {
  need(current && holds((void*)at, bytes), "set what is not allocated");
  memset((void*)at, value, bytes);
  return success;
}

static void copy(void* to, const void* from, size_t bytes, const char* way) {
  memcpy(to, from, bytes);
  const char* flips = getenv("STAND_IN_CUDA_FLIPS");
  if (flips != NULL && strcmp(flips, way) == 0 && bytes > 0) ((unsigned char*)to)[bytes / 2] ^= 1;
}

int cuMemcpyHtoD_v2(Address to, const void* from, size_t bytes) {
  need(current && holds((void*)to, bytes), "copied to what is not allocated");
  copy((void*)to, from, bytes, "to");
  return success;
}

int cuMemcpyDtoH_v2(void* to, Address from, size_t bytes) {
  need(current && holds((const void*)from, bytes), "copied from what is not allocated");
  copy(to, (const void*)from, bytes, "from");
  return success;
}

int cuPointerSetAttribute(const void* value, int attribute, Address at) {
  return value != NULL && attribute == 6 && at != 0 ? success : invalid_value;
}
