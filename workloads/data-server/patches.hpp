// A square array divided by columns, as in GAMESS's Distributed Data Interface (Fletcher et al., Computer
// Physics Communications 128, 2000): each server holds whole columns, divided as evenly as possible.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace crosscut::data_server {

// Rows and columns of an array, counted from 0. Columns are stored one after another.
struct Patch {
  std::int64_t row = 0, rows = 0, column = 0, columns = 0;

  std::int64_t elements() const { return rows * columns; }
  friend bool operator==(const Patch&, const Patch&) = default;
};

class Distribution {
 public:
  Distribution(std::int64_t order, int servers) : order_(order), servers_(servers) {}

  std::int64_t order() const { return order_; }
  int servers() const { return servers_; }

  // Returns the first column of a server; for `servers()`, the end of all columns.
  std::int64_t first_column(int server) const { return order_ * server / servers_; }
  std::int64_t columns(int server) const { return first_column(server + 1) - first_column(server); }

  int owner(std::int64_t column) const {
    int server = static_cast<int>(column * servers_ / order_);  // right, or one too low
    while (first_column(server + 1) <= column) ++server;
    return server;
  }

  // Calls act(server, its part) for each server that holds some of the patch, in order.
  template <typename Action>
  void for_each_part(const Patch& patch, Action&& act) const {
    const std::int64_t end = patch.column + patch.columns;
    for (std::int64_t column = patch.column; column < end;) {
      const int server = owner(column);
      const std::int64_t next = std::min(end, first_column(server + 1));
      act(server, Patch{patch.row, patch.rows, column, next - column});
      column = next;
    }
  }

  bool has(int server, const Patch& patch) const {
    return patch.row >= 0 && patch.rows > 0 && patch.rows <= order_ && patch.row <= order_ - patch.rows &&
           patch.columns > 0 && patch.columns <= order_ && patch.column >= first_column(server) &&
           patch.column <= first_column(server + 1) - patch.columns;
  }

 private:
  std::int64_t order_;
  int servers_;
};

inline constexpr int request_tag = 1;
inline constexpr int data_tag = 2;
inline constexpr int answer_tag = 3;
// Wakes a server that sleeps until its computing process has measured its speed.
inline constexpr int begin_tag = 4;

// A request of a computing process to a server. A get is a request and an answer with the data. An addition
// is a request and a message with the data, without an answer. So messages emulate one-sided operations, as
// in GAMESS's Distributed Data Interface over MPI-1 and sockets (Fletcher et al. 2000).
struct Request {
  enum class Kind : std::int64_t {
    get,
    add,
    next,   // the number of the next task
    fence,  // answered when all earlier requests of this process are done
    finish  // this process sends no more requests
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
