#include "tests/checking/rehearsal.hpp"

#include <algorithm>
#include <tuple>

#include "base/random.hpp"

namespace crosscut::program {
namespace {

struct Place {
  Rank rank = 0;
  std::size_t index = 0;  // index of the operation
};

using Stream = std::tuple<Rank, Rank, std::uint8_t, std::uint8_t>;  // source, destination, channel, rail

Stream stream_of(Rank rank, const Op& op) {
  const bool sends = op.kind == Op::Kind::send;
  return {sends ? rank : op.peer, sends ? op.peer : rank, op.channel, op.rail};
}

const Op& op_at(const Programs& programs, Place place) {
  return programs[static_cast<std::size_t>(place.rank)][place.index];
}

// All operations of one kind, by stream, in program order.
std::vector<std::pair<Stream, Place>> by_lane(const Programs& programs, Op::Kind kind) {
  std::vector<std::pair<Stream, Place>> found;
  for (std::size_t rank = 0; rank < programs.size(); ++rank)
    for (std::size_t i = 0; i < programs[rank].size(); ++i)
      if (programs[rank][i].kind == kind)
        found.emplace_back(stream_of(static_cast<Rank>(rank), programs[rank][i]),
                           Place{static_cast<Rank>(rank), i});
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return found;
}

std::vector<std::vector<Place>> collectives_of(const Programs& programs) {
  std::vector<std::vector<Place>> found(programs.size());
  for (std::size_t rank = 0; rank < programs.size(); ++rank)
    for (std::size_t i = 0; i < programs[rank].size(); ++i)
      if (programs[rank][i].kind == Op::Kind::collective) found[rank].push_back({static_cast<Rank>(rank), i});
  return found;
}

// Returns the rank whose data the operation moves.
Rank origin_of(const Programs& programs, Place place) {
  const Op& op = op_at(programs, place);
  if (op.kind == Op::Kind::receive) return op.origin >= 0 ? op.origin : op.peer;
  if (op.forwards < 0) return place.rank;
  return origin_of(programs, {place.rank, static_cast<std::size_t>(op.forwards)});
}

std::string disagreement(const Programs& programs, Place sent, Place received) {
  const Op& send = op_at(programs, sent);
  const Op& receive = op_at(programs, received);
  const std::string where = " operation " + std::to_string(received.index) + " of rank " +
                            std::to_string(received.rank) + " that meets it expects ";
  if (send.bytes != receive.bytes)
    return at_operation(
        sent.rank, sent.index,
        "sends " + std::to_string(send.bytes) + " bytes;" + where + std::to_string(receive.bytes));
  if (send.messages != receive.messages)
    return at_operation(
        sent.rank, sent.index,
        "sends " + std::to_string(send.messages) + " messages;" + where + std::to_string(receive.messages));
  if (send.rails != receive.rails)
    return at_operation(
        sent.rank, sent.index,
        "takes " + std::to_string(send.rails) + " rails;" + where + std::to_string(receive.rails));
  if (send.bytes > 0 && send.offset != receive.offset)
    return at_operation(
        sent.rank, sent.index,
        "sends from offset " + std::to_string(send.offset) + ";" + where + std::to_string(receive.offset));
  if (origin_of(programs, sent) != origin_of(programs, received))
    return at_operation(sent.rank, sent.index,
                        "sends data of rank " + std::to_string(origin_of(programs, sent)) + ";" + where +
                            std::to_string(origin_of(programs, received)));
  return {};
}

// Numbers the operations of all ranks consecutively.
class Rehearsal {
 public:
  Rehearsal(const Programs& programs, std::uint64_t seed) : programs_(programs), random_(seed) {
    for (const std::vector<Op>& ops : programs) {
      first_.push_back(operations_);
      operations_ += ops.size();
    }
    partner_.resize(operations_);
    const auto sends = by_lane(programs, Op::Kind::send), receives = by_lane(programs, Op::Kind::receive);
    for (std::size_t i = 0; i < sends.size(); ++i) {
      partner_[number(sends[i].second)] = receives[i].second;
      partner_[number(receives[i].second)] = sends[i].second;
    }
    collectives_ = collectives_of(programs);
    begun_.resize(collectives_.empty() ? 0 : collectives_.front().size());
    waits_for_.resize(operations_);
    dependents_.resize(operations_);
    posted_.resize(operations_);
    for (std::size_t rank = 0; rank < programs.size(); ++rank)
      for (std::size_t i = 0; i < programs[rank].size(); ++i) enter({static_cast<Rank>(rank), i});
  }

  std::string run() {
    while (!ready_.empty()) {
      std::swap(ready_[static_cast<std::size_t>(random_.below(ready_.size()))], ready_.back());
      const Place place = ready_.back();
      ready_.pop_back();
      posted_[number(place)] = true;
      if (op_at(programs_, place).kind == Op::Kind::collective) {
        begin_collective(place);
        continue;
      }
      const Place partner = partner_[number(place)];
      if (!posted_[number(partner)]) continue;
      complete(place);
      complete(partner);
    }
    return completed_ == operations_ ? std::string() : stuck();
  }

 private:
  std::size_t number(Place place) const { return first_[static_cast<std::size_t>(place.rank)] + place.index; }

  void enter(Place place) {
    for (const OpIndex before : op_at(programs_, place).after) {
      if (before < 0) continue;
      ++waits_for_[number(place)];
      dependents_[number({place.rank, static_cast<std::size_t>(before)})].push_back(place);
    }
    if (waits_for_[number(place)] == 0) ready_.push_back(place);
  }
  // A collective completes on all its ranks when the last has begun it.
  void begin_collective(Place place) {
    const auto& own = collectives_[static_cast<std::size_t>(place.rank)];
    const auto which =
        static_cast<std::size_t>(std::ranges::find(own, place.index, &Place::index) - own.begin());
    const auto taking_part =
        std::ranges::count_if(collectives_, [](const auto& one) { return !one.empty(); });
    if (std::cmp_less(++begun_[which], taking_part)) return;
    for (const auto& of_rank : collectives_)
      if (!of_rank.empty()) complete(of_rank[which]);
  }
  void complete(Place place) {
    ++completed_;
    for (const Place dependent : dependents_[number(place)])
      if (--waits_for_[number(dependent)] == 0) ready_.push_back(dependent);
  }
  std::string stuck() const {
    for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
      for (std::size_t i = 0; i < programs_[rank].size(); ++i) {
        const Place place{static_cast<Rank>(rank), i};
        if (op_at(programs_, place).kind == Op::Kind::collective) continue;
        if (!posted_[number(place)] || posted_[number(partner_[number(place)])]) continue;
        return at_operation(place.rank, i,
                            "waits for ever for operation " + std::to_string(partner_[number(place)].index) +
                                " of rank " + std::to_string(partner_[number(place)].rank) + " (deadlock)");
      }
    }
    return "deadlock";
  }

  const Programs& programs_;
  Random random_;
  std::vector<std::size_t> first_;  // [rank] number of its first operation
  std::size_t operations_ = 0, completed_ = 0;
  std::vector<Place> partner_;
  std::vector<std::vector<Place>> collectives_;  // [rank], in order
  std::vector<std::size_t> begun_;               // [collective] by so many ranks
  std::vector<int> waits_for_;
  std::vector<std::vector<Place>> dependents_;
  std::vector<bool> posted_;
  std::vector<Place> ready_;
};

}  // namespace

std::string at_operation(Rank rank, std::size_t index, const std::string& problem) {
  return "rank " + std::to_string(rank) + ", operation " + std::to_string(index) + ": " + problem;
}

std::string check_matching(const Programs& programs) {
  const auto sends = by_lane(programs, Op::Kind::send), receives = by_lane(programs, Op::Kind::receive);
  for (std::size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
    const bool send_alone = i >= receives.size() || (i < sends.size() && sends[i].first < receives[i].first);
    const bool receive_alone =
        i >= sends.size() || (i < receives.size() && receives[i].first < sends[i].first);
    if (send_alone)
      return at_operation(sends[i].second.rank, sends[i].second.index, "a send that nobody receives");
    if (receive_alone)
      return at_operation(receives[i].second.rank, receives[i].second.index,
                          "a receive of what nobody sends");
    std::string problem = disagreement(programs, sends[i].second, receives[i].second);
    if (!problem.empty()) return problem;
  }
  const auto all = collectives_of(programs);
  const Rank every = all.empty() || all.front().empty() ? 1 : op_at(programs, all.front().front()).every;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto& own = all[rank];
    const std::size_t expected = rank % static_cast<std::size_t>(every) == 0 ? all.front().size() : 0;
    if (own.size() != expected)
      return "rank " + std::to_string(rank) + " has " + std::to_string(own.size()) +
             " collectives instead of " + std::to_string(expected);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Op& one = op_at(programs, own[i]);
      const Op& first = op_at(programs, all.front()[i]);
      if (one.collective != first.collective || one.bytes != first.bytes || one.in_place != first.in_place ||
          one.every != every)
        return at_operation(own[i].rank, own[i].index, "is another collective than that of rank 0");
    }
  }
  return {};
}

std::string check_completion(const Programs& programs, std::uint64_t seed) {
  return Rehearsal(programs, seed).run();
}

}  // namespace crosscut::program
