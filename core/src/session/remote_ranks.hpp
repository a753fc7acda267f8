// Makes the conductor of a session with live ranks.
#pragma once

#include <memory>

#include "conduct/session_host.hpp"

namespace crosscut::session {

std::unique_ptr<conduct::SessionHost> make_conductor(const RankSetup& setup, const Address& interface);

}  // namespace crosscut::session
