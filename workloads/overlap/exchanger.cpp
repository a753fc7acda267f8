#include "overlap/exchanger.hpp"

#include <cstddef>

namespace crosscut::overlap {

namespace {

constexpr int tag = 1;
constexpr std::size_t stamped_words = 512;  // one in so many, a page: writing more would be work of its own

void write_stamp(std::span<std::uint64_t> words, std::uint64_t stamp) {
  for (std::size_t i = 0; i < words.size(); i += stamped_words) words[i] = stamp + i;
  words.back() = stamp + words.size() - 1;
}

bool has_stamp(std::span<const std::uint64_t> words, std::uint64_t stamp) {
  for (std::size_t i = 0; i < words.size(); i += stamped_words)
    if (words[i] != stamp + i) return false;
  return words.back() == stamp + words.size() - 1;
}

}  // namespace

Exchanger::Exchanger(Communicator& world, const Route& route, std::int64_t bytes)
    : world_(world), route_(route) {
  const auto words = static_cast<std::size_t>(bytes) / sizeof(std::uint64_t);
  if (route.from)
    for (auto& buffer : incoming_) buffer.assign(words, 0);
  if (route.to && !route.forwards) outgoing_.assign(words, 0);
}

void Exchanger::begin(std::int64_t exchanges) {
  ++series_;
  exchanges_ = exchanges;
}

std::uint64_t Exchanger::stamp(int origin, std::int64_t exchange) const {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15U;  // spreads small numbers over all bits
  return ((static_cast<std::uint64_t>(series_) << 48) + (static_cast<std::uint64_t>(origin) << 32) +
          static_cast<std::uint64_t>(exchange) + 1) *
         odd;
}

void Exchanger::post(std::int64_t step) {
  step_ = step;
  requests_.clear();
  const auto parity = static_cast<std::size_t>(step % 2);
  if (route_.from && step < exchanges_)
    requests_.push_back(world_.receive_later(incoming_[parity], *route_.from, tag));
  if (!route_.to) return;
  if (route_.forwards) {
    if (step > 0) requests_.push_back(world_.send_later(incoming_[1 - parity], *route_.to, tag));
    return;
  }
  write_stamp(outgoing_, stamp(world_.rank(), step));
  requests_.push_back(world_.send_later(outgoing_, *route_.to, tag));
}

void Exchanger::complete() {
  world_.wait_all(requests_);
  if (!route_.from || step_ >= exchanges_) return;
  ++received_;
  if (!has_stamp(incoming_[static_cast<std::size_t>(step_ % 2)], stamp(route_.origin, step_))) ++wrong_;
}

}  // namespace crosscut::overlap
