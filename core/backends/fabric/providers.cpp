#include "backends/fabric/providers.hpp"

#if defined(CROSSCUT_HAVE_FABRIC)

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/words.hpp"

namespace crosscut::backends::fabric {
namespace {

Info hints(Abilities abilities) {
  Info info(library().dupinfo(nullptr));
  if (!info) throw RunError("libfabric has no memory for fi_info");
  info->caps = FI_TAGGED | FI_SEND | FI_RECV;
  info->mode = FI_CONTEXT | FI_CONTEXT2;  // each operation has a fi_context2 of its own
  info->ep_attr->type = FI_EP_RDM;
  info->tx_attr->msg_order = FI_ORDER_SAS;  // the n-th send meets the n-th receive
  info->rx_attr->msg_order = FI_ORDER_SAS;
  info->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  if (abilities.gpus) {
    info->caps |= FI_HMEM;
    info->domain_attr->mr_mode |= FI_MR_HMEM;
  }
  if (abilities.writes) {
    info->caps |= FI_RMA | FI_WRITE | FI_REMOTE_WRITE;
    info->domain_attr->cq_data_size = 4;  // bytes; it carries the number of a slot
  }
  info->domain_attr->resource_mgmt = FI_RM_ENABLED;  // full queues answer FI_EAGAIN
  return info;
}

// Returns null if nothing is offered.
Info offered(const char* host, fi_info& wanted) {
  fi_info* list = nullptr;
  // A port, as some providers answer a host without one with nothing; 0 lets the kernel choose.
  const int code = library().getinfo(library().interface(), host, host != nullptr ? "0" : nullptr,
                                     host != nullptr ? FI_SOURCE : 0, &wanted, &list);
  if (code == -FI_ENODATA) return {};
  check(code, wanted.fabric_attr->prov_name != nullptr ? wanted.fabric_attr->prov_name : "(any)",
        "fi_getinfo");
  return Info(list);
}

std::string name_of(const fi_info& info) { return info.fabric_attr->prov_name; }

// The text of a member of fi_info, which fi_freeinfo frees.
char* copy_of(std::string_view text) { return ::strndup(text.data(), text.size()); }

}  // namespace

const Provider& find_provider(std::string_view name) {
  return *std::ranges::find(providers, name, &Provider::name);
}

Info choose(const Provider& provider, const std::string& host, const std::string& domain,
            Abilities abilities) {
  auto wanted = hints(abilities);
  wanted->fabric_attr->prov_name = copy_of(provider.name);
  if (!domain.empty()) wanted->domain_attr->name = copy_of(domain);
  const auto list = offered(provider.by_interface ? host.c_str() : nullptr, *wanted);
  std::set<std::string> others;  // ofi_rxm ignores the hint
  for (auto* info = list.get(); info != nullptr; info = info->next) {
    if (name_of(*info) != provider.name) continue;
    if (domain.empty() || info->domain_attr->name == domain) return Info(library().dupinfo(info));
    others.insert(info->domain_attr->name);
  }
  std::string where = provider.by_interface ? " on " + host : "";
  if (!others.empty())
    throw UsageError("--fabric-domain: libfabric's provider " + std::string(provider.name) +
                     " has no domain " + domain + where + "; it has " + joined(others));
  if (!domain.empty()) where += " in domain " + domain;
  std::string text = "libfabric's provider " + std::string(provider.name) +
                     " offers no reliable endpoints with tagged messages" +
                     (abilities.writes ? " and RMA writes (FI_RMA)" : "") +
                     (abilities.gpus ? " from the memory of GPUs (FI_HMEM)" : "") + " here" + where + "; ";
  std::string names;
  for (const auto& one : providers_with(abilities)) names += (names.empty() ? "" : ", ") + one.name;
  throw UsageError(text + (names.empty() ? "no provider does"
                                         : "these do: " + names + " (--fabric-provider, crosscut doctor)"));
}

std::vector<program::Device> found_providers() { return providers_with({}); }

std::vector<program::Device> providers_with(Abilities abilities) {
  const auto wanted = hints(abilities);
  const auto list = offered(nullptr, *wanted);
  std::map<std::string, std::set<std::string>> domains;
  std::map<std::string, std::uint32_t> versions;
  for (auto* info = list.get(); info != nullptr; info = info->next) {
    domains[name_of(*info)].insert(info->domain_attr->name);
    versions[name_of(*info)] = info->fabric_attr->prov_version;
  }
  std::vector<program::Device> found;
  for (const auto& [name, in] : domains) {
    std::string text = "version " + version_text(versions[name]) + ", domains ";
    text += joined(in);
    const auto known = std::ranges::find(providers, name, &Provider::name);
    if (known == providers.end()) {
      text += "; not offered by --fabric-provider";
    } else if (!known->was_run) {
      text += "; never run by crosscut's tests";
    }
    found.push_back({name, text});
  }
  return found;
}

std::string registration_text(const fi_info& info) {
  constexpr std::array<std::pair<int, const char*>, 6> flags{{{FI_MR_LOCAL, "FI_MR_LOCAL"},
                                                              {FI_MR_VIRT_ADDR, "FI_MR_VIRT_ADDR"},
                                                              {FI_MR_ALLOCATED, "FI_MR_ALLOCATED"},
                                                              {FI_MR_PROV_KEY, "FI_MR_PROV_KEY"},
                                                              {FI_MR_ENDPOINT, "FI_MR_ENDPOINT"},
                                                              {FI_MR_HMEM, "FI_MR_HMEM"}}};
  std::string text;
  for (const auto& [flag, name] : flags)
    if ((info.domain_attr->mr_mode & flag) != 0) text += (text.empty() ? "" : " ") + std::string(name);
  return text.empty() ? "none" : text;
}

}  // namespace crosscut::backends::fabric

#endif
