// Cables that are bad: read when somebody asks for it, and what becomes of frames meanwhile.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "user_switch/emulation.hpp"

namespace crosscut::user_switch {

void Emulation::set_fault_source(FaultSource read) {
  fault_source_ = std::move(read);
  take_faults(fault_source_());
}

// An outage that was there before goes on as it began.
void Emulation::take_faults(std::span<const CableFault> faults) {
  wiring_.set_faults(faults);
  const auto here = monotonic_nanoseconds();
  for (auto& tap : taps_) {
    Outage outage;
    for (const auto& fault : faults)
      if (fault.port == tap.entry.port) outage = fault.outage;
    if (outage == tap.outage) continue;
    tap.outage = outage;
    tap.outage_began = here;
  }
  show_carriers();
}

void Emulation::reread_faults() {
  json::Object said{{"event", "faults"}};
  try {
    if (!fault_source_) throw UsageError("no --faults FILE was named, from which to read them");
    const auto faults = fault_source_();
    take_faults(faults);
    said.emplace_back("cables", static_cast<std::int64_t>(faults.size()));
  } catch (const std::exception& error) {  // the file is somebody else's: a network does not end by it
    said.emplace_back("refused", error.what());
  }
  const auto line = json::write(said) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

bool Emulation::is_out(const Tap& tap) const {
  return tap.outage.is_now(monotonic_nanoseconds() - tap.outage_began);
}

void Emulation::show_carriers() {
  next_carrier_ = never_nanoseconds;
  const auto here = monotonic_nanoseconds();
  for (auto& tap : taps_) {
    if (!tap.outage.shows && tap.has_carrier) continue;
    const auto since = here - tap.outage_began;
    const bool wanted = !tap.outage.shows || !tap.outage.is_now(since);
    if (wanted != tap.has_carrier) set_carrier(tap.fd, tap.entry, wanted);
    tap.has_carrier = wanted;
    const auto every = tap.outage.every;
    if (every == 0) continue;
    const auto round = since - since % every;
    next_carrier_ = std::min(next_carrier_, tap.outage_began + round + (wanted ? every : tap.outage.lasts));
  }
}

}  // namespace crosscut::user_switch
