// The barrier between phases: a tree of connections of its own, apart from what is measured.
//
// Sixteen children a rank: 4,096 ranks are three levels deep, and no rank writes to more than sixteen.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "program/program.hpp"
#include "session/socket.hpp"

namespace crosscut::session {

class BarrierTree {
 public:
  static constexpr std::size_t arity = 16;

  struct Place {
    Rank parent = -1;  // -1: the root
    std::vector<Rank> children;
  };
  // Where `self` stands among the living ranks (sorted).
  static Place place(Rank self, std::span<const Rank> living);

  // A rank's clock against the root's: seconds to subtract from its own reading, and how wrong that may be.
  struct ClockOffset {
    double seconds = 0;
    double uncertainty_seconds = 0;
  };

  void set(Fd parent, std::vector<Fd> children);
  void poll(bool on) { polling_ = on; }  // spin instead of sleeping while waiting
  // Returns when all ranks have called it. Throws ConnectionLost when interrupted or a neighbour is gone.
  void wait();
  // Collective: exchanges clock readings down the tree (Cristian 1989: of several round trips the shortest).
  ClockOffset measure_offset();
  // From any thread: whoever waits gets ConnectionLost. The tree must be set again after.
  void interrupt();
  void clear();

 private:
  void receive(int fd, std::span<std::byte> bytes) const;
  std::mutex closing_;  // guards the descriptors against interrupt() from another thread
  Fd parent_;
  std::vector<Fd> children_;
  bool polling_ = false;
};

}  // namespace crosscut::session
