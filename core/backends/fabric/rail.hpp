// One rail of a rank over libfabric: a domain, an endpoint with its completion queue and address vector, and
// the messages under way on it.
#pragma once

#include "backends/fabric/providers.hpp"

#if defined(CROSSCUT_HAVE_FABRIC)

#include <map>
#include <optional>
#include <span>

#include "backends/fabric/turns.hpp"
#include "base/memory.hpp"
#include "measure/gpu.hpp"
#include "program/program.hpp"

namespace crosscut::backends::fabric {

// How the bytes of a message travel: in a tagged message, or by an RMA write into the receiver's memory,
// which the receiver has offered. A message of no bytes is always tagged.
enum class Transfer : std::uint8_t { tagged, write };

// Where a receiver wants a message, told in a tagged message. Sent as its bytes: little-endian, no padding.
struct Offer {
  std::uint64_t address = 0, key = 0;  // of the registered memory, as the receiver's provider counts
  std::uint64_t slot = 0;              // of the receiver; the write carries it as remote CQ data
};

// A message under way. libfabric returns the address of `context`, its first member, when the message ends.
struct Slot {
  fi_context2 context{};
  Offer offer;  // a send by write: what the receiver has offered
  Pending pending;
  Lane* lane = nullptr;
  bool sends = false;
  bool awaits_offer = false;  // a send by write
  bool awaits_write = false;  // a receive by write
  bool delivered = false;     // a short send that ends when the peer has received it
  std::byte token{};          // stands for nothing where an empty message cannot be delivered (shm 1.17)
};

// What a rank tells another about its endpoint. Sent as its bytes: little-endian, no padding.
struct Card {
  std::array<char, 64> provider{};
  std::uint64_t most_bytes = 0;  // in one message
  std::uint64_t name_bytes = 0;
  std::array<char, 512> name{};
};

// "sending to rank 3"
std::string doing(bool sends, Rank peer);

class Rail;

// Ends a registration: its rail forgets it first.
struct Forget {
  Rail* rail = nullptr;
  void operator()(fid_mr* region) const;
};
using Registration = std::unique_ptr<fid_mr, Forget>;

class Rail {
 public:
  // Opens the domain. `peers`: there may be so many. `blocking`: waits may sleep in the provider.
  // `most_inject`: the provider copies no longer message.
  Rail(Info info, Transfer transfer, std::size_t peers, bool blocking, std::size_t most_bytes,
       std::size_t most_inject);
  Rail(const Rail&) = delete;
  Rail& operator=(const Rail&) = delete;
  ~Rail() { close(); }

  // Opens the endpoint, unless it is open.
  void open();
  // Closes the endpoint: whatever was under way is forgotten, by the provider, too.
  void close();

  const Card& card() const { return card_; }
  bool knows(Rank peer) const { return peers_.contains(peer); }
  void add(Rank peer, const Card& card);
  // The most bytes of a message to or from a peer; a longer one must be split.
  std::size_t most_bytes(Rank peer) const { return peers_.at(peer).most_bytes; }

  // A phase begins that has these operations on this rail, whose number is `number`.
  void begin_phase(std::span<const program::Op> ops, std::uint8_t number);
  void push(bool sends, Turns::Key key, const Pending& pending) { turns(sends).push(key, pending); }
  // Starts what can start now. Appends the index of each message that this ends.
  void start(std::vector<program::OpIndex>& ended);
  // The same, and takes note of what else has ended.
  void progress(std::vector<program::OpIndex>& ended);
  // Sleeps until something may have ended, or for a while. Returns false if the provider cannot.
  bool sleep(std::vector<program::OpIndex>& ended);

  // Memory of messages, registered if the provider asks for that or others write there, and always on a GPU
  // (null: host memory).
  Registration enrol(std::span<std::byte> memory, const measure::Gpu* gpu);
  bool needs_registration() const {
    return transfer_ == Transfer::write || (info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
  }
  void forget(const fid_mr* region);

  // What is sent or received and has not ended (no peer: all has), and what the provider said when it last
  // refused to start a message.
  struct Unfinished {
    std::optional<Rank> peer;
    bool sends = false;
    std::string refusal;
  };
  Unfinished unfinished() const;
  const fi_info& info() const { return *info_; }
  std::size_t inject_bytes() const { return inject_bytes_; }
  std::size_t most_ahead() const { return most_ahead_; }
  bool sleeps() const { return sleeps_; }

 private:
  struct Peer {
    fi_addr_t address = FI_ADDR_NOTAVAIL;
    std::size_t most_bytes = 0;
    // Short messages sent, which the provider copies, less short ones received, since this rank last knew
    // that the peer had received all.
    std::size_t ahead = 0;
  };
  struct Region {
    std::span<std::byte> memory;
    fid_mr* handle = nullptr;
  };

  std::string_view provider() const { return info_->fabric_attr->prov_name; }
  void open_queue();
  Turns& turns(bool sends) { return sends ? sends_ : receives_; }
  bool start_all(bool sends, std::vector<program::OpIndex>& ended);
  Start start_one(Lane& lane, const Pending& pending, bool sends, std::vector<program::OpIndex>& ended);
  bool is_written(const Pending& pending) const { return transfer_ == Transfer::write && pending.bytes > 0; }
  ssize_t start_tagged(Slot& slot);
  ssize_t start_delivered(Slot& slot);
  ssize_t await_offer(Slot& slot);
  ssize_t offer(Slot& slot);
  bool start_writes();
  ssize_t write(Slot& slot);
  Slot& written(std::uint64_t number);
  // Returns false if the provider refuses for now. Throws PeerLost if it fails.
  bool accepted(ssize_t code, bool sends, Rank peer);
  const Region* region_of(const std::byte* data) const;
  void* description(const std::byte* data) const;
  void take(const fi_cq_data_entry& entry, std::vector<program::OpIndex>& ended);
  void end(Slot& slot, std::vector<program::OpIndex>& ended);
  void read_queue(std::vector<program::OpIndex>& ended);
  [[noreturn]] void fail();

  Info info_;
  Transfer transfer_;
  bool sleeps_, stalled_ = false;
  // The most that a peer may be sent ahead of what it receives, where the provider has little room for such
  // messages, as shm has for those of all senders together. 0: no bound.
  std::size_t most_ahead_;
  std::size_t inject_bytes_;
  int refusal_ = 0;  // the error of libfabric with which a message was refused; 0: none was
  Card card_;
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  std::vector<Region> regions_;
  std::uint64_t next_key_ = 0;  // of a registration, where the provider does not choose it
  // Closed in the reverse order: the endpoint uses the queue and the addresses.
  Owned<fid_av> addresses_;
  Owned<fid_cq> queue_;
  Owned<fid_ep> endpoint_;
  std::map<Rank, Peer> peers_;
  Turns sends_, receives_;
  std::vector<Slot> slots_;    // never grows while the endpoint is open: the provider keeps pointers to them
  Registration offer_memory_;  // of the slots' memory, into which offers come
  std::vector<Slot*> free_sends_, free_receives_;
  std::vector<Slot*> offered_;  // sends whose offer has come and whose write has not started
};

}  // namespace crosscut::backends::fabric

#endif
