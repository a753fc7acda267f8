// The lines between this rank and its peers, one for each channel and rail, used in both directions: what
// both ends have told each other in a window of words.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "backends/rma/windows.hpp"
#include "program/program.hpp"

namespace crosscut::backends::rma {

// An operation that waits for its peer.
struct Pending {
  program::OpIndex index = 0;
  std::int64_t bytes = 0;
  std::byte* data = nullptr;
};

// Pending operations, oldest first.
class Queue {
 public:
  bool empty() const { return first_ == pending_.size(); }
  std::size_t size() const { return pending_.size() - first_; }
  const Pending& at(std::size_t place) const { return pending_[first_ + place]; }
  void push(const Pending& pending) { pending_.push_back(pending); }
  Pending pop() {
    const auto oldest = pending_[first_++];
    if (empty()) {
      pending_.clear();  // keeps its memory
      first_ = 0;
    }
    return oldest;
  }

 private:
  std::vector<Pending> pending_;
  std::size_t first_ = 0;
};

struct Line {
  Rank peer = 0;
  const std::uint64_t* heard_words = nullptr;  // which the peer writes
  MPI_Aint told_words = 0;                     // displacement at the peer
  // As the end that offers: offers told, and messages that the peer has moved.
  std::uint64_t offered = 0, taken = 0;
  // As the end that moves: offers heard, moves started and finished, and where the open offers are.
  std::uint64_t heard = 0, started = 0, moved = 0;
  std::array<Place, Offer::most_open> places;
  Queue offering, moving;
  bool is_active = false;  // listed among the lines that have pending operations

  std::uint64_t open_offers() const { return offered - taken; }
  bool may_move() const { return heard > started; }
  // Returns where to move the next message.
  Place start_move() { return places[started++ % Offer::most_open]; }
};

class Lines {
 public:
  // Collective.
  Lines(MPI_Comm comm, Rank ranks, Rank self, std::size_t channels, std::size_t rails)
      : channels_(channels),
        rails_(rails),
        lines_(static_cast<std::size_t>(ranks) * channels * rails),
        words_(comm, lines_.size() * sizeof(Words)) {
    if (!words_.is_unified())
      throw UsageError(
          "this MPI keeps two copies of a window (MPI_WIN_SEPARATE), which the backend rma cannot poll; use "
          "--backend mpi");
    const auto* heard = reinterpret_cast<const Words*>(words_.memory().data());
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      lines_[i].peer = static_cast<Rank>(i / (channels * rails));
      lines_[i].heard_words = heard[i].data();
      lines_[i].told_words = static_cast<MPI_Aint>(
          (static_cast<std::size_t>(self) * channels * rails + i % (channels * rails)) * sizeof(Words));
    }
    mpi::check(MPI_Barrier(comm), "MPI_Barrier");  // no word may come before the memory is zero
  }

  bool have(std::size_t channels, std::size_t rails) const {
    return channels <= channels_ && rails <= rails_;
  }
  Line& of(const program::Op& op) {
    return lines_[(static_cast<std::size_t>(op.peer) * channels_ + op.channel) * rails_ + op.rail];
  }

  // Offers the place for the next message to the peer.
  void offer(Line& line, Place place) {
    const Offer offer{line.offered++, line.moved, place};
    tell(line, slot_of(offer.number), word_of(offer));
  }
  // Tells the peer how many of its offers this rank has used.
  void tell_moved(Line& line) { tell(line, 0, line.moved); }

  // Takes note of what the peer has told.
  void hear(Line& line) const {
    line.taken = std::max(line.taken, load(line, 0));
    while (line.heard - line.moved < Offer::most_open) {
      const auto word = load(line, slot_of(line.heard));
      if (!is_offer(word, line.heard)) return;
      line.places[line.heard++ % Offer::most_open] = place_in(word);
      line.taken = moved_in(word, line.taken);
    }
  }

  // Returns when all words told so far have arrived.
  void flush() {
    for (const auto peer : unflushed_) words_.flush(peer);
    unflushed_.clear();
    told_count_ = 0;
  }

 private:
  using Words = std::array<std::uint64_t, 1 + Offer::most_open>;  // moved messages, then slots of offers

  void tell(const Line& line, std::uint64_t slot, std::uint64_t word) {
    if (told_count_ == told_.size()) flush();
    auto& kept = told_[told_count_++];
    kept = word;
    // Of MPI's calls that write, only accumulates are atomic.
    mpi::check(MPI_Accumulate(&kept, 1, MPI_UINT64_T, line.peer,
                              line.told_words + static_cast<MPI_Aint>(slot * sizeof word), 1, MPI_UINT64_T,
                              MPI_REPLACE, words_.get()),
               "MPI_Accumulate");
    if (unflushed_.empty() || unflushed_.back() != line.peer) unflushed_.push_back(line.peer);
  }

  static std::uint64_t load(const Line& line, std::uint64_t slot) {
    auto& word = const_cast<std::uint64_t&>(line.heard_words[slot]);
    return std::atomic_ref(word).load(std::memory_order_acquire);
  }

  std::size_t channels_, rails_;
  std::vector<Line> lines_;
  Window words_;
  std::vector<Rank> unflushed_;             // peers to which words may be under way
  std::array<std::uint64_t, 1024> told_{};  // those words, which MPI may still read
  std::size_t told_count_ = 0;
};

}  // namespace crosscut::backends::rma
