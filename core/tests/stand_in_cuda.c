// A stand-in for CUDA's driver where there is no GPU: two devices whose memory is this process's own. It lets
// the tests run what crosscut does with a GPU's memory, and says nothing about any GPU. It also answers for
// an MPI that sends from such memory, which any MPI does here.
//
// STAND_IN_CUDA_FLIPS=to or =from: copies to or from the device change a byte.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Address;

enum { success = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3, devices = 2 };

static int initialized, current;

int MPIX_Query_cuda_support(void) { return 1; }

int cuInit(unsigned flags) {
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
  return device >= 100 ? success : invalid_value;
}

int cuDevicePrimaryCtxRelease_v2(int device) { return device >= 100 ? success : invalid_value; }

int cuCtxSetCurrent(void* context) {
  current = context == &initialized;
  return current ? success : invalid_value;
}

int cuCtxSynchronize(void) { return current ? success : not_initialized; }

int cuMemAlloc_v2(Address* at, size_t bytes) {
  if (!current) return not_initialized;
  void* memory = malloc(bytes);
  *at = (Address)memory;
  return memory != NULL ? success : out_of_memory;
}

int cuMemFree_v2(Address at) {
  free((void*)at);
  return success;
}

int cuMemsetD8_v2(Address at, unsigned char value, size_t bytes) {
  memset((void*)at, value, bytes);
  return success;
}

static void copy(void* to, const void* from, size_t bytes, const char* way) {
  memcpy(to, from, bytes);
  const char* flips = getenv("STAND_IN_CUDA_FLIPS");
  if (flips != NULL && strcmp(flips, way) == 0 && bytes > 0) ((unsigned char*)to)[bytes / 2] ^= 1;
}

int cuMemcpyHtoD_v2(Address to, const void* from, size_t bytes) {
  copy((void*)to, from, bytes, "to");
  return success;
}

int cuMemcpyDtoH_v2(void* to, Address from, size_t bytes) {
  copy(to, (const void*)from, bytes, "from");
  return success;
}

int cuPointerSetAttribute(const void* value, int attribute, Address at) {
  return value != NULL && attribute == 6 && at != 0 ? success : invalid_value;
}
