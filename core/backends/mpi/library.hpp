// What the backends over MPI share.
#pragma once

#include <mpi.h>

#include <map>

#include "backends/mpi/check.hpp"
#include "base/json.hpp"
#include "session/control_thread.hpp"

namespace crosscut::backends::mpi {

// A copy of MPI_COMM_WORLD whose calls return their errors. Collective to make.
class World {
 public:
  World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();
  MPI_Comm get() const { return comm_; }
  // Returns the ranks 0, n, 2 n, ...; all of them must call it, when it is first called for this n.
  MPI_Comm every(int n);
  // Returns when all ranks have called it. Until then each lets its library move what others wait for: a
  // message that MPI has taken may need that, and a rank that waits outside MPI does not. `yielding`: yields
  // its core meanwhile. Collective. Throws session::ConnectionLost if interrupted: a rank that is gone or
  // stopped never calls it.
  void drain(bool yielding, const session::ControlThread& control) const;

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::map<int, MPI_Comm> every_;
};

// True if the library says that it sends from the memory of CUDA's GPUs.
bool sends_from_cuda();

// Returns the library's version and the standard's, for the run's attributes.
json::Object library_facts();

}  // namespace crosscut::backends::mpi
