// The list of backends, which differs between executables. Separate from registry.cpp so that tests of
// patterns need not link the backends.
#include <array>

#include "base/words.hpp"
#include "program/registry.hpp"

// CROSSCUT_BACKEND_NEEDS names a backend and the library beyond libc that it needs.
#define CROSSCUT_BACKEND(id)              \
  namespace crosscut::backends::id {      \
  extern const program::BackendInfo info; \
  }
#define CROSSCUT_BACKEND_NEEDS(id, ...) CROSSCUT_BACKEND(id)
#include "backends/backends.def"
#undef CROSSCUT_BACKEND

namespace crosscut::program {

std::span<const BackendInfo* const> backends() {
#define CROSSCUT_BACKEND(id) &backends::id::info,
  static constexpr std::array all = {
#include "backends/backends.def"
  };
#undef CROSSCUT_BACKEND
#undef CROSSCUT_BACKEND_NEEDS
  return all;
}

const BackendInfo& find_backend(std::string_view name) { return find_named(backends(), "backend", name); }

}  // namespace crosscut::program
