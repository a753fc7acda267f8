// The barrier between phases: a tree of connections that are separate from the measured ones. Orders to
// measure travel down it and samples up it, among measuring threads, so that no rank is disturbed while it
// measures.
//
// Each rank has at most sixteen children, so 4,096 ranks need only three levels below the root.
#pragma once

#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "program/program.hpp"
#include "session/carried.hpp"
#include "session/socket.hpp"
#include "session/wire.hpp"

namespace crosscut::session {

class BarrierTree {
 public:
  static constexpr std::size_t arity = 16;

  struct Place {
    Rank parent = -1;  // -1: the root
    std::vector<Rank> children;
  };
  // Returns the place of `self` among those of all ranks that are not lost. `lost` is sorted.
  static Place place(Rank self, Rank ranks, std::span<const Rank> lost);

  // Offset of a rank's clock from the root's: seconds to subtract from a reading, and their uncertainty.
  struct ClockOffset {
    double seconds = 0;
    double uncertainty_seconds = 0;
  };

  // `child_ranks`: whose the connections of `children` are, to name one that is lost.
  void set(Fd parent, std::vector<Fd> children, std::vector<Rank> child_ranks = {});
  void poll(bool on) { polling_ = on; }  // spin instead of sleeping while waiting
  // Returns once all ranks have called wait(). Throws ConnectionLost if interrupted or a neighbour is gone.
  void wait();
  // The same, but calls `meanwhile` again and again until then, at least once a millisecond.
  void wait(const std::function<void()>& meanwhile);
  // Returns this rank's offset. Collective: exchanges clock readings down the tree and keeps the shortest of
  // several round trips (Cristian 1989).
  ClockOffset measure_offset();
  // Readable when the parent has sent a frame or is gone; -1 at the root.
  int parent_fd() const { return parent_.get(); }
  // Receives a frame from the parent; sends one to all children. Throw ConnectionLost.
  Frame from_above() const;
  void pass_down(const Frame& frame) const;
  // Joins `own` with what the whole tree below passes up, and hands it to the parent; at the root to `take`,
  // in frames that hold whole entries: `part`s, then a `result`. Throws PeerLost naming a child that is gone.
  void pass_up(std::vector<std::byte> own, const std::function<void(const Frame&)>& take) const;
  // What this rank's connections in the tree have carried, the closed ones too. Not beside set() or clear().
  Carried carried() const;
  // Makes wait() throw ConnectionLost; callable from any thread. Call set() before the next wait().
  void interrupt();
  void clear();

 private:
  void receive(int fd, std::span<std::byte> bytes) const { receive(fd, bytes, {}); }
  void receive(int fd, std::span<std::byte> bytes, const std::function<void()>& meanwhile) const;
  Frame receive_from(std::size_t child) const;
  std::mutex closing_;  // guards the descriptors against interrupt() from another thread
  Fd parent_;
  std::vector<Fd> children_;
  std::vector<Rank> child_ranks_;
  Carried closed_;  // what earlier connections have carried
  bool polling_ = false;
};

}  // namespace crosscut::session
