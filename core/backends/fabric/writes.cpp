// Messages by RMA write: the receiver offers memory in a tagged message, and the sender writes there, with
// the number of the receiver's slot as remote CQ data, whose completion tells the receiver that the bytes
// have come.
#include "backends/fabric/rail.hpp"

#if defined(CROSSCUT_HAVE_FABRIC)

#include "base/error.hpp"

namespace crosscut::backends::fabric {

ssize_t Rail::await_offer(Slot& slot) {
  return fi_trecv(endpoint_.get(), &slot.offer, sizeof(Offer),
                  description(reinterpret_cast<const std::byte*>(&slot.offer)), FI_ADDR_UNSPEC,
                  slot.pending.tag, 0, &slot.context);
}

ssize_t Rail::offer(Slot& slot) {
  const auto* const region = region_of(slot.pending.data);
  if (region == nullptr)
    throw RunError("internal error: a message outside all registered memory; please report it");
  const bool virtually = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  const auto address = virtually ? reinterpret_cast<std::uintptr_t>(slot.pending.data)
                                 : static_cast<std::uint64_t>(slot.pending.data - region->memory.data());
  const Offer told{address, fi_mr_key(region->handle), static_cast<std::uint64_t>(&slot - slots_.data())};
  return fi_tinject(endpoint_.get(), &told, sizeof told, peers_.at(slot.lane->peer).address,
                    slot.pending.tag);
}

ssize_t Rail::write(Slot& slot) {
  const auto& [index, tag, data, bytes] = slot.pending;
  const auto& [to, key, number] = slot.offer;
  const auto peer = peers_.at(slot.lane->peer).address;
  return fi_writedata(endpoint_.get(), data, bytes, description(data), number, peer, to, key, &slot.context);
}

bool Rail::start_writes() {
  std::erase_if(offered_, [&](Slot* slot) { return accepted(write(*slot), true, slot->lane->peer); });
  return offered_.empty();
}

// The number comes from a peer.
Slot& Rail::written(std::uint64_t number) {
  if (number >= slots_.size() || !slots_[number].awaits_write)
    throw RunError("libfabric's provider " + std::string(provider()) + " tells of a write to slot " +
                   std::to_string(number) + ", for which this rank waits for none");
  slots_[number].awaits_write = false;
  return slots_[number];
}

}  // namespace crosscut::backends::fabric

#endif
