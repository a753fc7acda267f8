#include "backends/fabric/rail.hpp"

#if defined(CROSSCUT_HAVE_FABRIC)

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "measure/backend.hpp"

namespace crosscut::backends::fabric {
namespace {

// Most messages under way in each direction: the completion queue has room for all of them.
constexpr std::size_t most_under_way = 1024;
// Messages that shm (1.17) keeps for a rank, both those that it receives and those that came unexpectedly.
constexpr std::size_t room_of_shm = 1024;
// A rank that only knows what its peer has sent may be twice as far ahead as it counts.
constexpr std::size_t ahead_of_all = room_of_shm / 4, ahead_of_one = 64;
// A wait looks for an interrupt this often.
constexpr int sleep_milliseconds = 50;

template <class Object>
Owned<Object> opened(auto open, std::string_view provider, std::string_view call) {
  Object* object = nullptr;
  check(open(&object), provider, call);
  return Owned<Object>(object);
}

std::size_t bounded(std::size_t size) { return std::clamp<std::size_t>(size, 1, most_under_way); }

}  // namespace

std::string doing(bool sends, Rank peer) {
  return (sends ? "sending to rank " : "receiving from rank ") + std::to_string(peer);
}

Rail::Rail(Info info, Transfer transfer, std::size_t peers, bool blocking, std::size_t most_bytes,
           std::size_t most_inject)
    : info_(std::move(info)),
      transfer_(transfer),
      sleeps_(blocking),
      most_ahead_(provider() == "shm" ? std::clamp<std::size_t>(
                                            ahead_of_all / std::max<std::size_t>(peers, 1), 1, ahead_of_one)
                                      : 0),
      inject_bytes_(std::min(info_->tx_attr->inject_size, most_inject)) {
  if (transfer_ == Transfer::write && info_->tx_attr->inject_size < sizeof(Offer))
    throw UsageError("libfabric's provider " + std::string(provider()) + " copies at most " +
                     std::to_string(info_->tx_attr->inject_size) + " bytes of a message (inject_size), and " +
                     "--fabric-transfer write needs " + std::to_string(sizeof(Offer)) +
                     "; use --fabric-transfer tagged");
  fabric_ =
      opened<fid_fabric>([&](auto** made) { return library().fabric(info_->fabric_attr, made, nullptr); },
                         provider(), "fi_fabric");
  domain_ =
      opened<fid_domain>([&](auto** made) { return fi_domain(fabric_.get(), info_.get(), made, nullptr); },
                         provider(), "fi_domain");
  provider().copy(card_.provider.data(), card_.provider.size() - 1);
  card_.most_bytes = info_->ep_attr->max_msg_size;
  if (most_bytes > 0) card_.most_bytes = std::min<std::uint64_t>(card_.most_bytes, most_bytes);
}

// A provider may know no sleep; then the rank yields its processor between looks. Not FI_WAIT_UNSPEC: shm
// (1.17) then yields by itself, and never looks at the time.
void Rail::open_queue() {
  fi_cq_attr attributes{};
  attributes.size = slots_.size();
  attributes.format = FI_CQ_FORMAT_DATA;
  attributes.wait_obj = sleeps_ ? FI_WAIT_FD : FI_WAIT_NONE;
  fid_cq* queue = nullptr;
  auto code = fi_cq_open(domain_.get(), &attributes, &queue, nullptr);
  if (code < 0 && sleeps_) {
    sleeps_ = false;
    attributes.wait_obj = FI_WAIT_NONE;
    code = fi_cq_open(domain_.get(), &attributes, &queue, nullptr);
  }
  check(code, provider(), "fi_cq_open");
  queue_.reset(queue);
}

void Rail::open() {
  if (endpoint_) return;
  const auto sends = bounded(info_->tx_attr->size);
  const auto receives =
      std::min(bounded(info_->rx_attr->size), most_ahead_ > 0 ? room_of_shm / 2 : most_under_way);
  slots_.assign(sends + receives, Slot{});
  free_sends_.clear();
  free_receives_.clear();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].sends = i < sends;
    (i < sends ? free_sends_ : free_receives_).push_back(&slots_[i]);
  }
  sends_.reset(sends);
  receives_.reset(receives);
  if (most_ahead_ > 0) sends_.bound_lanes(most_ahead_);
  if (most_ahead_ > 0 && transfer_ == Transfer::write) receives_.bound_lanes(most_ahead_);  // which offer
  if ((info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0 && transfer_ == Transfer::write)
    offer_memory_ = enrol(std::as_writable_bytes(std::span(slots_)), nullptr);
  open_queue();
  fi_av_attr attributes{};
  attributes.type = info_->domain_attr->av_type == FI_AV_UNSPEC ? FI_AV_TABLE : info_->domain_attr->av_type;
  addresses_ =
      opened<fid_av>([&](auto** made) { return fi_av_open(domain_.get(), &attributes, made, nullptr); },
                     provider(), "fi_av_open");
  endpoint_ =
      opened<fid_ep>([&](auto** made) { return fi_endpoint(domain_.get(), info_.get(), made, nullptr); },
                     provider(), "fi_endpoint");
  check(fi_ep_bind(endpoint_.get(), &queue_->fid, FI_TRANSMIT | FI_RECV), provider(), "fi_ep_bind");
  check(fi_ep_bind(endpoint_.get(), &addresses_->fid, 0), provider(), "fi_ep_bind");
  check(fi_enable(endpoint_.get()), provider(), "fi_enable");
  std::size_t bytes = card_.name.size();
  check(fi_getname(&endpoint_->fid, card_.name.data(), &bytes), provider(), "fi_getname");
  card_.name_bytes = bytes;
}

void Rail::close() {
  endpoint_.reset();
  offer_memory_.reset();
  offered_.clear();
  queue_.reset();
  addresses_.reset();
  peers_.clear();
  for (auto* turns : {&sends_, &receives_}) turns->reset(0);
}

void Rail::add(Rank peer, const Card& card) {
  if (card.provider != card_.provider) {
    const std::string theirs(card.provider.data(), ::strnlen(card.provider.data(), card.provider.size()));
    throw UsageError("rank " + std::to_string(peer) + " uses libfabric's provider " + theirs +
                     ", but this rank " + std::string(provider()) + "; all ranks need the same");
  }
  fi_addr_t address = FI_ADDR_NOTAVAIL;
  const auto added = fi_av_insert(addresses_.get(), card.name.data(), 1, &address, 0, nullptr);
  if (added != 1) {
    throw RunError("libfabric's provider " + std::string(provider()) + " does not take the address of rank " +
                   std::to_string(peer));
  }
  peers_[peer] = {address, std::min(card_.most_bytes, card.most_bytes)};
}

void Forget::operator()(fid_mr* region) const {
  rail->forget(region);
  fi_close(&region->fid);
}

Registration Rail::enrol(std::span<std::byte> memory, const measure::Gpu* gpu) {
  const iovec range{memory.data(), memory.size()};
  fi_mr_attr attributes{};
  attributes.mr_iov = &range;
  attributes.iov_count = 1;
  attributes.access = FI_SEND | FI_RECV;
  if (transfer_ == Transfer::write) attributes.access |= FI_WRITE | FI_REMOTE_WRITE;
  attributes.requested_key = next_key_++;
  if (gpu != nullptr) {
    attributes.iface = FI_HMEM_CUDA;
    attributes.device.cuda = gpu->number();
  }
  auto region = opened<fid_mr>(
      [&](auto** made) { return fi_mr_regattr(domain_.get(), &attributes, 0, made); }, provider(),
      "fi_mr_regattr of " + std::to_string(memory.size()) + " bytes" +
          (gpu != nullptr ? "; on a GPU, it takes a libfabric built with CUDA" : ""));
  regions_.push_back({memory, region.get()});
  return {region.release(), Forget{this}};
}

void Rail::forget(const fid_mr* region) {
  std::erase_if(regions_, [&](const Region& one) { return one.handle == region; });
}

const Rail::Region* Rail::region_of(const std::byte* data) const {
  for (const auto& region : regions_)
    if (data >= region.memory.data() && data < region.memory.data() + region.memory.size()) return &region;
  return nullptr;  // the provider does not ask, or the message is empty
}

void* Rail::description(const std::byte* data) const {
  const auto* const region = region_of(data);
  return region != nullptr ? fi_mr_desc(region->handle) : nullptr;
}

void Rail::begin_phase(std::span<const program::Op> ops, std::uint8_t number) {
  for (auto* turns : {&sends_, &receives_}) turns->begin_phase();
  for (const auto& op : ops)
    if (op.rail == number) turns(op.kind == program::Op::Kind::send).expect({op.peer, op.channel});
}

Rail::Unfinished Rail::unfinished() const {
  for (const bool sends : {false, true})
    if (const auto* lane = (sends ? sends_ : receives_).unfinished())
      return {lane->peer, sends, refusal_ != 0 ? library().strerror(refusal_) : ""};
  return {};
}

bool Rail::accepted(ssize_t code, bool sends, Rank peer) {
  // Without memory: shm (1.17) keeps what arrived unexpectedly and what it was given to receive in one pool.
  if (code == -FI_EAGAIN || code == -FI_ENOMEM) {
    refusal_ = static_cast<int>(-code);
    return false;
  }
  if (code >= 0) return true;
  const auto what = doing(sends, peer);
  throw measure::PeerLost(peer,
                          what + " by libfabric's provider " + std::string(provider()) + ": " +
                              library().strerror(static_cast<int>(-code)),
                          what);
}

// Starts a send that ends only when the peer has received it, and all that this rank sent it before.
ssize_t Rail::start_delivered(Slot& slot) {
  const auto& [index, tag, data, bytes] = slot.pending;
  const iovec part = bytes > 0 ? iovec{data, bytes} : iovec{&slot.token, 1};
  void* described = description(data);
  const fi_msg_tagged message{&part, &described,    1, peers_.at(slot.lane->peer).address, tag,
                              0,     &slot.context, 0};
  return fi_tsendmsg(endpoint_.get(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

ssize_t Rail::start_tagged(Slot& slot) {
  const auto& [index, tag, data, bytes] = slot.pending;
  const auto address = peers_.at(slot.lane->peer).address;
  auto* const described = description(data);
  if (slot.sends) return fi_tsend(endpoint_.get(), data, bytes, described, address, tag, &slot.context);
  const bool by_token = bytes == 0 && most_ahead_ > 0;  // a delivered empty message has one byte
  return fi_trecv(endpoint_.get(), by_token ? &slot.token : data, by_token ? 1 : bytes, described,
                  FI_ADDR_UNSPEC, tag, 0, &slot.context);
}

Start Rail::start_one(Lane& lane, const Pending& pending, bool sends, std::vector<program::OpIndex>& ended) {
  const bool by_write = is_written(pending);
  // The provider has copied a short message when it returns, so its send is over.
  const bool is_short = sends && !by_write && pending.bytes <= inject_bytes_;
  auto& ahead = peers_.at(lane.peer).ahead;
  const bool delivered = is_short && most_ahead_ > 0 && ahead >= most_ahead_;
  const bool copied = is_short && !delivered;
  auto& free = sends ? free_sends_ : free_receives_;
  auto& slot = *free.back();
  slot.pending = pending;
  slot.lane = &lane;
  ssize_t code = 0;
  if (copied) {
    code =
        fi_tinject(endpoint_.get(), pending.data, pending.bytes, peers_.at(lane.peer).address, pending.tag);
  } else if (delivered) {
    code = start_delivered(slot);
  } else if (by_write) {
    code = sends ? await_offer(slot) : offer(slot);
  } else {
    code = start_tagged(slot);
  }
  if (!accepted(code, sends, lane.peer)) return Start::refused;
  if (copied) {
    ++ahead;
    ended.push_back(pending.index);
    return Start::over;
  }
  free.pop_back();
  slot.delivered = lane.closed = delivered;
  (sends ? slot.awaits_offer : slot.awaits_write) = by_write;
  return Start::under_way;
}

bool Rail::start_all(bool sends, std::vector<program::OpIndex>& ended) {
  return turns(sends).start(
      [&](Lane& lane, const Pending& pending) { return start_one(lane, pending, sends, ended); });
}

void Rail::end(Slot& slot, std::vector<program::OpIndex>& ended) {
  (slot.sends ? free_sends_ : free_receives_).push_back(&slot);
  turns(slot.sends).ended(*slot.lane);
  auto& ahead = peers_.at(slot.lane->peer).ahead;
  if (std::exchange(slot.delivered, false)) {
    slot.lane->closed = false;
    ahead = 0;
  } else if (!slot.sends && ahead > 0 && slot.pending.bytes <= inject_bytes_) {
    --ahead;
  }
  ended.push_back(slot.pending.index);
}

void Rail::take(const fi_cq_data_entry& entry, std::vector<program::OpIndex>& ended) {
  if ((entry.flags & FI_REMOTE_WRITE) != 0) return end(written(entry.data), ended);
  auto& slot = *static_cast<Slot*>(entry.op_context);
  if (!std::exchange(slot.awaits_offer, false)) return end(slot, ended);
  if (entry.len != sizeof(Offer))
    throw measure::PeerLost(slot.lane->peer, "rank " + std::to_string(slot.lane->peer) +
                                                 " offered memory in " + std::to_string(entry.len) +
                                                 " bytes, not " + std::to_string(sizeof(Offer)));
  offered_.push_back(&slot);
  if (!stalled_) stalled_ = !start_writes();  // else with all that was refused
}

void Rail::read_queue(std::vector<program::OpIndex>& ended) {
  std::array<fi_cq_data_entry, 32> entries;
  while (true) {
    const auto count = fi_cq_read(queue_.get(), entries.data(), entries.size());
    if (count == -FI_EAGAIN) return;
    if (count == -FI_EAVAIL) fail();
    check(count, provider(), "fi_cq_read");
    for (ssize_t i = 0; i < count; ++i) take(entries[static_cast<std::size_t>(i)], ended);
    if (static_cast<std::size_t>(count) < entries.size()) return;
  }
}

void Rail::start(std::vector<program::OpIndex>& ended) {
  refusal_ = 0;
  const bool received = start_all(false, ended), sent = start_all(true, ended), written = start_writes();
  stalled_ = !received || !sent || !written;
}

void Rail::progress(std::vector<program::OpIndex>& ended) {
  start(ended);
  read_queue(ended);
}

bool Rail::sleep(std::vector<program::OpIndex>& ended) {
  // What could not start needs the provider to make progress, of which no completion may tell.
  if (!sleeps_ || stalled_) return false;
  fi_cq_data_entry entry{};
  const auto count = fi_cq_sread(queue_.get(), &entry, 1, nullptr, sleep_milliseconds);
  if (count == -FI_EAGAIN || count == -FI_EINTR) return true;
  if (count == -FI_EAVAIL) fail();
  if (count == -FI_ENOSYS) return sleeps_ = false;
  check(count, provider(), "fi_cq_sread");
  if (count == 1) take(entry, ended);
  return true;
}

void Rail::fail() {
  fi_cq_err_entry error{};
  check(fi_cq_readerr(queue_.get(), &error, 0), provider(), "fi_cq_readerr");
  std::array<char, 128> text{};
  const char* cause =
      fi_cq_strerror(queue_.get(), error.prov_errno, error.err_data, text.data(), text.size());
  const auto why = " libfabric's provider " + std::string(provider()) + ": " + library().strerror(error.err) +
                   " (the provider's error " + std::to_string(error.prov_errno) +
                   (cause != nullptr && *cause != '\0' ? std::string(": ") + cause : "") + ")";
  const auto* const slot = static_cast<const Slot*>(error.op_context);
  if (slot < slots_.data() || slot >= slots_.data() + slots_.size()) {
    // A message without a context, such as an offer: the peer is one of those not served.
    if (const auto left = unfinished(); left.peer)
      throw measure::PeerLost(*left.peer, "a message by" + why, doing(left.sends, *left.peer));
    throw RunError("a message by" + why);
  }
  const auto peer = slot->lane->peer;
  const auto what = doing(slot->sends, peer);
  throw measure::PeerLost(peer, what + " by" + why, what);
}

}  // namespace crosscut::backends::fabric

#endif
