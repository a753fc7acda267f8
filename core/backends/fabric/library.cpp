#include "backends/fabric/library.hpp"

#if defined(CROSSCUT_HAVE_FABRIC)

#include <dlfcn.h>

#include <algorithm>

#include "base/error.hpp"

namespace crosscut::backends::fabric {
namespace {

constexpr auto file = "libfabric.so.1";

struct Loaded {
  Library library;
  std::string missing;
};

template <class Function>
void look_up(void* handle, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  if (function == nullptr)
    missing = std::string(file) + " has no " + name + "; install libfabric 1.11 or newer";
}

// The library stays loaded: providers leave threads and handlers behind that unloading would pull the ground
// from.
Loaded load() {
  Loaded loaded;
  void* handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    loaded.missing =
        std::string("cannot load libfabric (") + (why != nullptr ? why : file) +
        "); install it on every node (Debian: libfabric1), or name its folder in LD_LIBRARY_PATH";
    return loaded;
  }
  auto& [getinfo, freeinfo, dupinfo, fabric, strerror, version] = loaded.library;
  look_up(handle, "fi_getinfo", getinfo, loaded.missing);
  look_up(handle, "fi_freeinfo", freeinfo, loaded.missing);
  look_up(handle, "fi_dupinfo", dupinfo, loaded.missing);
  look_up(handle, "fi_fabric", fabric, loaded.missing);
  look_up(handle, "fi_strerror", strerror, loaded.missing);
  look_up(handle, "fi_version", version, loaded.missing);
  return loaded;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

}  // namespace

std::uint32_t Library::interface() const {
  return std::min<std::uint32_t>(version(), FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION));
}

std::string_view why_missing() { return loaded().missing; }

const Library& library() {
  if (!loaded().missing.empty()) throw UsageError(loaded().missing);
  return loaded().library;
}

std::string version_text(std::uint32_t version) {
  return std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version));
}

ssize_t check(ssize_t code, std::string_view provider, std::string_view call) {
  if (code >= 0) return code;
  throw RunError("libfabric's provider " + std::string(provider) + ": " + std::string(call) + ": " +
                 library().strerror(static_cast<int>(-code)));
}

}  // namespace crosscut::backends::fabric

#endif
