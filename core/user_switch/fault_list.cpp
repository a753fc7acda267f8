#include "user_switch/fault_list.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/words.hpp"
#include "user_switch/port_names.hpp"

namespace crosscut::user_switch {
namespace {

constexpr double share_least = 1e-6;
constexpr double period_most_seconds = 3600, period_least_seconds = 1e-3;

double share_of(const json::Value& entry, std::string_view key) {
  const auto* value = entry.find(key);
  if (value == nullptr) return 1;
  const double share = value->number();
  if (!(share >= share_least && share <= 1))
    throw UsageError(std::string(key) + ": a share of the rate, above 0 and at most 1");
  return share;
}

bool is_set(const json::Value& entry, std::string_view key) {
  const auto* value = entry.find(key);
  return value != nullptr && value->boolean();
}

std::int64_t nanoseconds_of(double seconds) { return std::llround(seconds * 1e9); }

Outage outage_of(const json::Value& entry) {
  Outage outage;
  const auto* lose = entry.find("lose");
  if (lose == nullptr) {
    for (const std::string_view key : {"carrier", "seconds", "every"})
      if (entry.find(key) != nullptr) throw UsageError(std::string(key) + " goes with \"lose\"");
    return outage;
  }
  const auto& which = lose->string();
  if (which != "in" && which != "out" && which != "both")
    throw UsageError("lose " + shown(which) + ": in, out or both");
  outage.in = which != "out";
  outage.out = which != "in";
  outage.shows = is_set(entry, "carrier");
  const auto* seconds = entry.find("seconds");
  const auto* every = entry.find("every");
  if ((seconds == nullptr) != (every == nullptr)) throw UsageError("seconds and every go together");
  if (every == nullptr) return outage;
  const double lasts = seconds->number(), period = every->number();
  if (!(lasts > 0 && lasts < period && period >= period_least_seconds && period <= period_most_seconds))
    throw UsageError("every: from a millisecond to an hour, and seconds: less than that");
  outage.lasts = nanoseconds_of(lasts);
  outage.every = nanoseconds_of(period);
  return outage;
}

CableFault read(std::string_view line, const PortNames& names) {
  static constexpr std::string_view keys[] = {"host",  "adapter", "in",      "out",     "half_duplex", "at",
                                              "known", "lose",    "carrier", "seconds", "every"};
  const auto entry = read_entry(line, keys);
  CableFault fault{.port = names.port(entry),
                   .in_share = share_of(entry, "in"),
                   .out_share = share_of(entry, "out"),
                   .half_duplex = is_set(entry, "half_duplex"),
                   .place = {},
                   .is_known = is_set(entry, "known"),
                   .outage = outage_of(entry)};
  if (const auto* at = entry.find("at")) {
    json::Object place{{"host", *at}, {"adapter", fault.port.adapter}};
    fault.place = names.port(std::move(place));
    if (fault.place->host == fault.port.host) throw UsageError("at: that is the host itself");
  }
  return fault;
}

}  // namespace

std::vector<CableFault> parse_faults(std::string_view text, const std::string& path,
                                     const networks::Network& network, const Wiring& wiring) {
  const PortNames names(network, wiring);
  std::vector<CableFault> faults;
  std::set<Port> seen;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    try {
      faults.push_back(read(line, names));
      if (!seen.insert(faults.back().port).second)
        throw UsageError(names.name(faults.back().port) + " has a fault already");
    } catch (const UsageError& error) {
      throw UsageError(path + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  return faults;
}

}  // namespace crosscut::user_switch
