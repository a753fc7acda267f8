// A session without processes: requests are served, and all ranks simulated, right here.
#pragma once

#include "session/session_config.hpp"

namespace crosscut::backends::sim {

// Until the session ends; returns the exit status. Says what goes wrong as events.
int serve_simulation(const session::SessionConfig& config, int requests_fd, int events_fd);

}  // namespace crosscut::backends::sim
