// A data server: it holds its columns of both arrays, and does what computing processes ask for.
#pragma once

#include <cstdint>
#include <vector>

#include "data-server/request.hpp"
#include "data-server/roles.hpp"
#include "data-server/tasks.hpp"
#include "data-server/waiting.hpp"
#include "npb/common/communicator.hpp"

namespace crosscut::data_server {

class Server {
 public:
  Server(Communicator& world, const Roles& roles, const Settings& settings);

  // Asleep until its computing process says that work begins, so that it takes nothing of the processor.
  void await_beginning();
  // Until every computing process has finished.
  void serve();

  // What the array that was added to has become.
  std::uint64_t checksum() const;
  std::int64_t elements_sent() const { return elements_sent_; }
  // Of this process's time between beginning and end; NaN where time is simulated.
  double processor_share() const { return processor_share_; }

 private:
  void await_request(std::size_t asker);
  // Who has asked, from `after` on and then from the first, so that nobody is always the last.
  std::size_t next_asker(std::size_t after);
  // Whether `source` has finished.
  bool answer(const Request& request, int source);
  void send_patch(const Patch& patch, int destination);
  void add_patch(const Patch& patch, int source);
  void send_words(std::int64_t word, int destination);
  std::size_t place(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>((column - first_column_) * distribution_.order() + row);
  }

  Communicator& world_;
  Tasks tasks_;
  Distribution distribution_;
  int index_;
  std::int64_t first_column_;
  Roles roles_;
  Waiter waiter_;
  // Of each computing process the next, received into a place of its own: over TCP the MPICH of PyPI (5.0.2)
  // loses messages that are received from any rank, and does not find them with MPI_Iprobe.
  std::vector<Request::Words> requests_;
  std::vector<MPI_Request> arrivals_;
  std::vector<double> read_, added_to_;  // columns, one after another
  std::vector<double> buffer_;
  std::int64_t next_task_ = 0;
  std::int64_t elements_sent_ = 0;
  double processor_share_ = 0;
};

}  // namespace crosscut::data_server
