// One rail of a rank over libfabric: a domain, an endpoint with its completion queue and address vector, and
// the messages under way on it.
#pragma once

#include "backends/fabric/providers.hpp"

#if defined(CROSSCUT_HAVE_FABRIC)

#include <map>
#include <span>

#include "backends/tcp/connections.hpp"
#include "base/memory.hpp"
#include "program/program.hpp"

namespace crosscut::backends::fabric {

// A message, or a part of one, that waits for its turn.
struct Pending {
  program::OpIndex index = 0;
  Rank peer = 0;
  std::uint64_t tag = 0;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

// A message under way. libfabric returns the address of `context`, its first member, when the message ends.
struct Slot {
  fi_context2 context{};
  program::OpIndex index = 0;
  Rank peer = 0;
  bool sends = false;
};

// What a rank tells another about its endpoint. Sent as its bytes: little-endian, no padding.
struct Card {
  std::array<char, 64> provider{};
  std::uint64_t most_bytes = 0;  // in one message
  std::uint64_t name_bytes = 0;
  std::array<char, 512> name{};
};

class Rail {
 public:
  // Opens the domain. `blocking`: waits may sleep in the provider.
  Rail(Info info, bool blocking, std::size_t most_bytes);

  // Opens the endpoint, unless it is open.
  void open();
  // Closes the endpoint: whatever was under way is forgotten, by the provider, too.
  void close();

  const Card& card() const { return card_; }
  bool knows(Rank peer) const { return peers_.contains(peer); }
  void add(Rank peer, const Card& card);
  // The most bytes of a message to or from a peer; a longer one must be split.
  std::size_t most_bytes(Rank peer) const { return peers_.at(peer).most_bytes; }

  void push(bool sends, const Pending& pending) { (sends ? sends_ : receives_).push(pending); }
  // Starts what can start now. Appends the index of each message that this ends.
  void start(std::vector<program::OpIndex>& ended);
  // The same, and takes note of what else has ended.
  void progress(std::vector<program::OpIndex>& ended);
  // Sleeps until something may have ended, or for a while. Returns false if the provider cannot.
  bool sleep(std::vector<program::OpIndex>& ended);

  // Memory of messages, registered if the provider asks for that.
  Owned<fid_mr> enrol(std::span<std::byte> memory);
  bool needs_registration() const { return (info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0; }
  void forget(const fid_mr* region);

  // Returns a message that is under way; null if there is none.
  const Slot* under_way() const;
  const fi_info& info() const { return *info_; }
  bool sleeps() const { return sleeps_; }

 private:
  struct Peer {
    fi_addr_t address = FI_ADDR_NOTAVAIL;
    std::size_t most_bytes = 0;
  };
  struct Region {
    std::span<std::byte> memory;
    fid_mr* handle = nullptr;
  };

  std::string_view provider() const { return info_->fabric_attr->prov_name; }
  void open_queue();
  void start_all(tcp::KeptQueue<Pending>& waiting, bool sends, std::vector<program::OpIndex>& ended);
  bool start_one(const Pending& pending, bool sends, std::vector<program::OpIndex>& ended);
  void* description(const std::byte* data) const;
  void take(const fi_cq_entry& entry, std::vector<program::OpIndex>& ended);
  void read_queue(std::vector<program::OpIndex>& ended);
  [[noreturn]] void fail();

  Info info_;
  bool sleeps_, stalled_ = false;
  Card card_;
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  std::vector<Region> regions_;
  // Closed in the reverse order: the endpoint uses the queue and the addresses.
  Owned<fid_av> addresses_;
  Owned<fid_cq> queue_;
  Owned<fid_ep> endpoint_;
  std::map<Rank, Peer> peers_;
  tcp::KeptQueue<Pending> sends_, receives_;
  std::vector<Slot> slots_;  // never grows while the endpoint is open: the provider keeps pointers to them
  std::vector<Slot*> free_sends_, free_receives_;
};

}  // namespace crosscut::backends::fabric

#endif
