// libfabric, loaded when it is first needed, so that no executable is linked with it. Its six entry points
// are looked up; all other calls are inline and go through the tables of the objects that these return.
#pragma once

#if __has_include(<rdma/fabric.h>)
#define CROSSCUT_HAVE_FABRIC

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace crosscut::backends::fabric {

struct Library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
  decltype(&::fi_version) version = nullptr;

  // The version of the interface to ask for: the library's own or that of the headers, whichever is older.
  std::uint32_t interface() const;
};

// Returns why libfabric cannot be loaded, and what to do; empty if it can.
std::string_view why_missing();
// Throws UsageError with that reason.
const Library& library();

std::string version_text(std::uint32_t version);  // "1.17"

// Throws RunError with the provider and libfabric's text of the error if `code` is one (negative). Returns
// `code`.
ssize_t check(ssize_t code, std::string_view provider, std::string_view call);

// An object of libfabric, closed when it goes.
template <class Object>
struct Close {
  void operator()(Object* object) const { fi_close(&object->fid); }
};
template <class Object>
using Owned = std::unique_ptr<Object, Close<Object>>;

struct FreeInfo {
  void operator()(fi_info* info) const { library().freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

}  // namespace crosscut::backends::fabric

#endif
