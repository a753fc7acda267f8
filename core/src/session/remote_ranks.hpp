// The conductor of a session whose ranks measure.
#pragma once

#include <memory>

#include "conduct/session_host.hpp"

namespace crosscut::session {

std::unique_ptr<conduct::SessionHost> make_conductor(const RankSetup& setup, const Address& interface);

}  // namespace crosscut::session
