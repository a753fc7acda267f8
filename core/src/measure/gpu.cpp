#include "measure/gpu.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/words.hpp"

namespace crosscut::measure {
namespace {

constexpr auto file = "libcuda.so.1";

// The functions of CUDA 11 and newer, declared here so that building needs no header of CUDA.
using Address = unsigned long long;
using Handle = struct Opaque*;  // of a context

struct Driver {
  int (*cuInit)(unsigned) = nullptr;
  int (*cuDriverGetVersion)(int*) = nullptr;
  int (*cuGetErrorString)(int, const char**) = nullptr;
  int (*cuDeviceGetCount)(int*) = nullptr;
  int (*cuDeviceGet)(int*, int) = nullptr;
  int (*cuDeviceGetName)(char*, int, int) = nullptr;
  int (*cuDeviceGetPCIBusId)(char*, int, int) = nullptr;
  int (*cuDevicePrimaryCtxRetain)(Handle*, int) = nullptr;
  int (*cuDevicePrimaryCtxRelease)(int) = nullptr;
  int (*cuCtxSetCurrent)(Handle) = nullptr;
  int (*cuMemAlloc)(Address*, std::size_t) = nullptr;
  int (*cuMemFree)(Address) = nullptr;
  int (*cuMemsetD8)(Address, unsigned char, std::size_t) = nullptr;
  int (*cuMemcpyHtoD)(Address, const void*, std::size_t) = nullptr;
  int (*cuMemcpyDtoH)(void*, Address, std::size_t) = nullptr;
  int (*cuPointerSetAttribute)(const void*, int, Address) = nullptr;
};

constexpr int sync_memops = 6;  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS

template <class Function>
void look_up(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  if (function == nullptr)
    throw UsageError(std::string("--memory-kind cuda: ") + file + " has no " + name +
                     "; install a driver of CUDA 11 or newer");
}

Driver load() {
  void* handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    throw UsageError(std::string("--memory-kind cuda: this node has no driver of an NVIDIA GPU (") +
                     (why != nullptr ? why : file) + "); choose nodes with GPUs, or --memory-kind host");
  }
  Driver driver;
  look_up(handle, "cuInit", driver.cuInit);
  look_up(handle, "cuDriverGetVersion", driver.cuDriverGetVersion);
  look_up(handle, "cuGetErrorString", driver.cuGetErrorString);
  look_up(handle, "cuDeviceGetCount", driver.cuDeviceGetCount);
  look_up(handle, "cuDeviceGet", driver.cuDeviceGet);
  look_up(handle, "cuDeviceGetName", driver.cuDeviceGetName);
  look_up(handle, "cuDeviceGetPCIBusId", driver.cuDeviceGetPCIBusId);
  look_up(handle, "cuDevicePrimaryCtxRetain", driver.cuDevicePrimaryCtxRetain);
  look_up(handle, "cuDevicePrimaryCtxRelease_v2", driver.cuDevicePrimaryCtxRelease);
  look_up(handle, "cuCtxSetCurrent", driver.cuCtxSetCurrent);
  look_up(handle, "cuMemAlloc_v2", driver.cuMemAlloc);
  look_up(handle, "cuMemFree_v2", driver.cuMemFree);
  look_up(handle, "cuMemsetD8_v2", driver.cuMemsetD8);
  look_up(handle, "cuMemcpyHtoD_v2", driver.cuMemcpyHtoD);
  look_up(handle, "cuMemcpyDtoH_v2", driver.cuMemcpyDtoH);
  look_up(handle, "cuPointerSetAttribute", driver.cuPointerSetAttribute);
  return driver;
}

const Driver& driver() {
  static const Driver once = load();
  return once;
}

template <class Error = RunError>
void check(int code, const char* call) {
  if (code == 0) return;
  const char* text = nullptr;
  driver().cuGetErrorString(code, &text);
  throw Error(std::string("CUDA: ") + call + ": " + (text != nullptr ? text : "unknown error") + " (" +
              std::to_string(code) + ")");
}

Address address_of(const void* data) { return reinterpret_cast<Address>(data); }

// Returns the number of GPUs, 0 if the driver finds none.
int count() {
  constexpr int no_device = 100;
  const int code = driver().cuInit(0);
  if (code == no_device) return 0;
  check<UsageError>(code, "cuInit");
  int found = 0;
  check<UsageError>(driver().cuDeviceGetCount(&found), "cuDeviceGetCount");
  return found;
}

int count_of_some() {
  const int found = count();
  if (found == 0)
    throw UsageError("--memory-kind cuda: this node's driver finds no GPU; use --memory-kind host");
  return found;
}

struct Description {
  std::string name, pci, cuda;  // cuda: the driver's version of the interface
};

Description described(int device) {
  std::array<char, 128> name{}, pci{};
  int version = 0;
  check(driver().cuDeviceGetName(name.data(), static_cast<int>(name.size()), device), "cuDeviceGetName");
  check(driver().cuDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()), device),
        "cuDeviceGetPCIBusId");
  check(driver().cuDriverGetVersion(&version), "cuDriverGetVersion");
  return {name.data(), pci.data(),
          std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10)};
}

struct Kind {
  bool host = true;
  std::optional<int> number;  // of the GPU; nothing: the next
};

Kind parse_kind(std::string_view word) {
  if (word == "host") return {};
  if (word == "cuda") return {false, std::nullopt};
  constexpr std::string_view prefix = "cuda:";
  if (word.starts_with(prefix)) {
    const auto digits = word.substr(prefix.size());
    const bool is_number = !digits.empty() && digits.size() < 4 &&
                           std::ranges::all_of(digits, [](char each) { return each >= '0' && each <= '9'; });
    if (is_number) return {false, std::stoi(std::string(digits))};
  }
  throw UsageError("--memory-kind " + std::string(word) +
                   ": unknown; write host, cuda or cuda:N, or several as in host,cuda:0");
}

std::vector<Kind> parse_kinds(std::string_view text) {
  std::vector<Kind> kinds;
  for (const auto word : split(text, ',')) kinds.push_back(parse_kind(word));
  return kinds;
}

}  // namespace

Gpu::Context::~Context() {
  if (!held) return;
  driver().cuCtxSetCurrent(nullptr);
  driver().cuDevicePrimaryCtxRelease(device);
}

Gpu::Gpu(int number) : number_(number) {
  if (const int found = count_of_some(); number >= found) {
    throw UsageError("--memory-kind cuda:" + std::to_string(number) + ": this node has " +
                     std::to_string(found) + (found == 1 ? " GPU" : " GPUs") + ", which count from 0");
  }
  check(driver().cuDeviceGet(&context_.device, number), "cuDeviceGet");
  Handle context = nullptr;
  check(driver().cuDevicePrimaryCtxRetain(&context, context_.device), "cuDevicePrimaryCtxRetain");
  context_.held = true;
  check(driver().cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

Memory Gpu::allocate(std::size_t bytes) const {
  if (bytes == 0) return {};
  Address at = 0;
  constexpr int out_of_memory = 2;
  const int code = driver().cuMemAlloc(&at, bytes);
  if (code == out_of_memory) {
    throw UsageError("GPU " + std::to_string(number_) + " has no room for messages of " +
                     std::to_string(bytes) + " bytes; lower --size or --window, or choose another GPU");
  }
  check(code, "cuMemAlloc");
  Memory memory({reinterpret_cast<std::byte*>(at), bytes}, [at] { driver().cuMemFree(at); });
  // An adapter reads this memory itself, so copies must have ended when their calls return.
  const unsigned on = 1;
  check(driver().cuPointerSetAttribute(&on, sync_memops, at), "cuPointerSetAttribute");
  check(driver().cuMemsetD8(at, 0, bytes), "cuMemsetD8");
  return memory;
}

void Gpu::write(std::byte* to, std::span<const std::byte> from) const {
  check(driver().cuMemcpyHtoD(address_of(to), from.data(), from.size()), "cuMemcpyHtoD");
}

void Gpu::read(std::span<std::byte> to, const std::byte* from) const {
  check(driver().cuMemcpyDtoH(to.data(), address_of(from), to.size()), "cuMemcpyDtoH");
}

json::Value Gpu::facts() const {
  const auto [name, pci, cuda] = described(context_.device);
  return json::Object{{"number", number_}, {"name", name}, {"pci", pci}, {"cuda", cuda}};
}

std::vector<program::Device> found_gpus() {
  if (::dlopen(file, RTLD_NOW | RTLD_LOCAL) == nullptr) return {};
  std::vector<program::Device> found;
  try {
    const int most = count();
    for (int number = 0; number < most; ++number) {
      int device = 0;
      check(driver().cuDeviceGet(&device, number), "cuDeviceGet");
      const auto [name, pci, cuda] = described(device);
      found.push_back({"cuda:" + std::to_string(number), name + " at " + pci + ", driver of CUDA " + cuda +
                                                             "; --memory-kind cuda has never run on a GPU"});
    }
  } catch (const std::exception& error) {
    found.push_back({"cuda", std::string("not usable: ") + error.what()});
  }
  return found;
}

std::unique_ptr<Gpu> gpu_of(std::string_view text, int place) {
  const auto kinds = parse_kinds(text);
  const auto at = static_cast<std::size_t>(place) % kinds.size();
  const auto& kind = kinds[at];
  if (kind.host) return nullptr;
  if (kind.number) return std::make_unique<Gpu>(*kind.number);
  // The ranks before this one that also take the next GPU.
  const auto next = [](const Kind& one) { return !one.host && !one.number; };
  const auto rounds = static_cast<std::size_t>(place) / kinds.size();
  const auto before = rounds * static_cast<std::size_t>(std::ranges::count_if(kinds, next)) +
                      static_cast<std::size_t>(std::count_if(
                          kinds.begin(), kinds.begin() + static_cast<std::ptrdiff_t>(at), next));
  return std::make_unique<Gpu>(static_cast<int>(before % static_cast<std::size_t>(count_of_some())));
}

}  // namespace crosscut::measure
