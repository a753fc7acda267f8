// What computing processes send to servers. A get is this and an answer with the data; an addition is this
// and a message with the data, unanswered; so one-sided operations are made of messages where nothing else is
// at hand, as GAMESS's Distributed Data Interface does over MPI-1 and sockets (Fletcher et al. 2000).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "data-server/patches.hpp"

namespace crosscut::data_server {

inline constexpr int request_tag = 1;
inline constexpr int data_tag = 2;
inline constexpr int answer_tag = 3;
inline constexpr int begin_tag =
    4;  // to a server that sleeps until its computing process has tried its speed

struct Request {
  enum class Kind : std::int64_t {
    get,
    add,
    next,   // the number of the next task
    fence,  // answered when all that came before from this process is done
    finish  // this process asks no more
  };
  using Words = std::array<std::int64_t, 5>;

  Kind kind = Kind::finish;
  Patch patch{};

  Words words() const {
    return {static_cast<std::int64_t>(kind), patch.row, patch.rows, patch.column, patch.columns};
  }

  static std::optional<Request> of(const Words& words) {
    if (words[0] < 0 || words[0] > static_cast<std::int64_t>(Kind::finish)) return std::nullopt;
    return Request{static_cast<Kind>(words[0]), {words[1], words[2], words[3], words[4]}};
  }
};

}  // namespace crosscut::data_server
