// One rank's messages of one size: posted, completed, and looked at.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "npb/common/communicator.hpp"
#include "overlap/routes.hpp"

namespace crosscut::overlap {

using npb::Communicator;

class Exchanger {
 public:
  Exchanger(Communicator& world, const Route& route, std::int64_t bytes);

  // A series of `exchanges` begins; its stamps are its own.
  void begin(std::int64_t exchanges);
  // One step more than exchanges where messages are forwarded: the last that came has to go on.
  std::int64_t steps() const { return exchanges_ + (route_.forwards ? 1 : 0); }
  void post(std::int64_t step);
  // Whether all that was posted is complete, without waiting.
  bool is_complete() { return world_.test_all(std::span(requests_)); }
  // Waits, and looks at what came.
  void complete();

  std::int64_t received() const { return received_; }
  std::int64_t wrong() const { return wrong_; }

 private:
  std::uint64_t stamp(int origin, std::int64_t exchange) const;

  Communicator& world_;
  Route route_;
  std::array<std::vector<std::uint64_t>, 2> incoming_;  // one is filled while the other goes on
  std::vector<std::uint64_t> outgoing_;
  std::vector<MPI_Request> requests_;
  std::int64_t series_ = 0, exchanges_ = 0, step_ = 0;
  std::int64_t received_ = 0, wrong_ = 0;
};

}  // namespace crosscut::overlap
