// The providers that can be asked for, and what libfabric offers of them here.
#pragma once

#include "backends/fabric/library.hpp"

#if defined(CROSSCUT_HAVE_FABRIC)

#include <array>
#include <vector>

#include "program/registry.hpp"

namespace crosscut::backends::fabric {

struct Provider {
  std::string_view name;
  // True if its endpoints have the address of an interface, so that --interface chooses it.
  bool by_interface;
  bool was_run;  // by crosscut's tests; the others need adapters that these do not have
};

inline constexpr std::array providers{
    Provider{"tcp;ofi_rxm", true, true},    Provider{"net", true, true},
    Provider{"shm", false, true},           Provider{"tcp", true, true},
    Provider{"verbs;ofi_rxm", true, false}, Provider{"efa", false, false},
    Provider{"cxi", false, false},          Provider{"psm3", false, false},
    Provider{"opx", false, false},
};

const Provider& find_provider(std::string_view name);

// What endpoints must do beyond tagged messages.
struct Abilities {
  bool gpus = false;    // send from GPUs' memory
  bool writes = false;  // write into the memory of others, who learn of it (remote CQ data)
};

// Returns what libfabric offers of a provider: reliable, connectionless endpoints with tagged messages, on
// the interface with the address `host` (by_interface) or in the domain `domain` (empty: any). Throws
// UsageError if there is nothing, with the providers that there are.
Info choose(const Provider& provider, const std::string& host, const std::string& domain,
            Abilities abilities);

// Returns all providers here with such endpoints, each with its version and domains.
std::vector<program::Device> found_providers();
std::vector<program::Device> providers_with(Abilities abilities);

// Returns the registration of memory that a provider asks for, as libfabric names it: "FI_MR_LOCAL".
std::string registration_text(const fi_info& info);

}  // namespace crosscut::backends::fabric

#endif
