// A data server: holds its columns of both arrays and carries out the requests of computing processes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "data-server/patches.hpp"
#include "data-server/roles.hpp"
#include "data-server/tasks.hpp"
#include "data-server/waiting.hpp"
#include "npb/common/communicator.hpp"
#include "program/processors.hpp"

namespace crosscut::data_server {

class Server {
 public:
  Server(Communicator& world, const Roles& roles, const Settings& settings)
      : world_(world),
        tasks_(settings),
        distribution_(settings.order, roles.pairs()),
        index_(roles.index(world.rank())),
        first_column_(distribution_.first_column(index_)),
        roles_(roles),
        waiter_(settings.waiting, settings.pause_microseconds),
        requests_(static_cast<std::size_t>(roles.pairs())),
        arrivals_(requests_.size(), MPI_REQUEST_NULL) {
    const std::int64_t columns = distribution_.columns(index_);
    const auto elements = static_cast<std::size_t>(columns * settings.order);
    read_.reserve(elements);
    for (std::int64_t column = first_column_; column < first_column_ + columns; ++column)
      for (std::int64_t row = 0; row < settings.order; ++row) read_.push_back(tasks_.value(row, column));
    added_to_.assign(elements, 0.0);
  }

  // Sleeps, using no processor time, until its computing process announces the start of work.
  void await_beginning() {
    std::array<std::int64_t, 1> nothing{};
    std::array requests{world_.receive_later(nothing, roles_.computing_rank(index_), begin_tag)};
    Waiter(Waiting::sleep, asleep_microseconds).for_all(world_, requests);
  }

  // Serves requests until every computing process has finished.
  void serve() {
    const double begin_seconds = MPI_Wtime();
    const auto used_before = program::processor_seconds();
    for (std::size_t asker = 0; asker < arrivals_.size(); ++asker) await_request(asker);
    std::size_t asker = arrivals_.size() - 1;
    for (std::size_t unfinished = arrivals_.size(); unfinished > 0;) {
      asker = next_asker(asker);
      const int source = roles_.computing_rank(static_cast<int>(asker));
      const auto request = Request::of(requests_[asker]);
      if (!request) throw std::runtime_error("rank " + std::to_string(source) + " sent an unknown request");
      if (answer(*request, source)) {
        --unfinished;
      } else {
        await_request(asker);
      }
    }
    const auto used_after = program::processor_seconds();
    const double seconds = MPI_Wtime() - begin_seconds;
    processor_share_ = used_before && used_after && seconds > 0 ? (*used_after - *used_before) / seconds
                                                                : std::numeric_limits<double>::quiet_NaN();
  }

  // Returns the checksum of this server's columns of the array that was added to.
  std::uint64_t checksum() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < added_to_.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      sum += static_cast<std::uint64_t>(added_to_[i]) *
             tasks_.weight(at % distribution_.order(), first_column_ + at / distribution_.order());
    }
    return sum;
  }

  std::int64_t elements_sent() const { return elements_sent_; }
  // Returns this process's share of a processor while it served; NaN if time is simulated.
  double processor_share() const { return processor_share_; }

 private:
  void await_request(std::size_t asker) {
    arrivals_[asker] =
        world_.receive_later(requests_[asker], roles_.computing_rank(static_cast<int>(asker)), request_tag);
  }

  // Returns the next computing process with a request, first searching those after `after`, so that none is
  // always last.
  std::size_t next_asker(std::size_t after) {
    const auto later = std::span(arrivals_).subspan(after + 1);
    if (!later.empty())
      if (const auto found = world_.test_any(later)) return after + 1 + *found;
    return waiter_.for_any(world_, arrivals_);
  }

  // Returns true if `source` has finished.
  bool answer(const Request& request, int source) {
    const bool has_patch = request.kind == Request::Kind::get || request.kind == Request::Kind::add;
    if (has_patch && !distribution_.has(index_, request.patch))
      throw std::runtime_error("rank " + std::to_string(source) + " requested a part that this server lacks");
    switch (request.kind) {
      case Request::Kind::get:
        send_patch(request.patch, source);
        break;
      case Request::Kind::add:
        add_patch(request.patch, source);
        break;
      case Request::Kind::next:
        send_words(next_task_++, source);
        break;
      case Request::Kind::fence:
        send_words(0, source);
        break;
      case Request::Kind::finish:
        return true;
    }
    return false;
  }

  void send_patch(const Patch& patch, int destination) {
    buffer_.resize(static_cast<std::size_t>(patch.elements()));
    auto to = buffer_.begin();
    for (std::int64_t column = patch.column; column < patch.column + patch.columns; ++column)
      to = std::copy_n(read_.begin() + static_cast<std::ptrdiff_t>(place(patch.row, column)), patch.rows, to);
    std::array requests{world_.send_later(buffer_, destination, answer_tag)};
    waiter_.for_all(world_, requests);
    elements_sent_ += patch.elements();
  }

  void add_patch(const Patch& patch, int source) {
    buffer_.resize(static_cast<std::size_t>(patch.elements()));
    std::array requests{world_.receive_later(buffer_, source, data_tag)};
    waiter_.for_all(world_, requests);
    std::span<const double> from = buffer_;
    for (std::int64_t column = patch.column; column < patch.column + patch.columns; ++column) {
      const auto into = std::span(added_to_).subspan(place(patch.row, column));
      for (std::size_t row = 0; row < static_cast<std::size_t>(patch.rows); ++row) into[row] += from[row];
      from = from.subspan(static_cast<std::size_t>(patch.rows));
    }
  }

  void send_words(std::int64_t word, int destination) {
    const std::array words{word};
    world_.send(words, destination, answer_tag);
  }

  std::size_t place(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>((column - first_column_) * distribution_.order() + row);
  }

  static constexpr std::int64_t asleep_microseconds = 1000;

  Communicator& world_;
  Tasks tasks_;
  Distribution distribution_;
  int index_;
  std::int64_t first_column_;
  Roles roles_;
  Waiter waiter_;
  // Each computing process's next request is received into its own place: over TCP, the MPICH of PyPI (5.0.2)
  // loses messages received from any source, and does not find them with MPI_Iprobe.
  std::vector<Request::Words> requests_;
  std::vector<MPI_Request> arrivals_;
  std::vector<double> read_, added_to_;  // columns, one after another
  std::vector<double> buffer_;
  std::int64_t next_task_ = 0;
  std::int64_t elements_sent_ = 0;
  double processor_share_ = 0;
};

}  // namespace crosscut::data_server
