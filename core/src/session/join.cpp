#include "session/join.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/error.hpp"
#include "base/words.hpp"
#include "measure/machine.hpp"
#include "measure/pinning.hpp"
#include "session/messages.hpp"

namespace crosscut::session {
namespace {

std::vector<Address> addresses_of(std::string_view names) try {
  std::vector<Address> addresses;
  for (const auto name : split(names, ',')) addresses.push_back(Address::of_interface(name));
  return addresses;
} catch (const UsageError& error) {
  throw UsageError("node " + measure::host_name() + ": " + error.what());
}

std::string no_way_to_rank_0(const RankSetup& setup, const Address& interface, const ConnectionLost& lost) {
  return "cannot reach rank 0, the conductor, from " + interface.host() + " within " +
         std::to_string(std::lround(setup.timeout_seconds)) + " s: " + lost.what();
}

Fd connect_to_conductor(const RankSetup& setup, const Address& conductor, Deadline deadline) {
  return connect_authenticated(conductor, {}, setup.secret, {Purpose::control, setup.rank, 0, 0, 0},
                               deadline);
}

// Tells the conductor why this rank cannot join: unless the launcher reports it, the conductor would wait in
// vain. If the conductor cannot be reached, its own time-out ends the wait.
void refuse(const RankSetup& setup, const Address& conductor, const UsageError& error) {
  try {
    const auto deadline = after_seconds(setup.timeout_seconds);
    const Fd control = connect_to_conductor(setup, conductor, deadline);
    send_frame(control.get(), FrameType::refused, pack(Refusal{true, error.what()}), deadline);
  } catch (const ConnectionLost&) {
  }
}

}  // namespace

std::vector<Address> interfaces_of(const RankSetup& setup) { return addresses_of(setup.interface); }

Address control_interface_of(const RankSetup& setup) {
  return addresses_of(setup.control_interface.empty() ? setup.interface : setup.control_interface).front();
}

Membership join(const RankSetup& setup, const Address& conductor) {
  Membership member;
  try {
    member.interfaces = interfaces_of(setup);
    member.control_interface = control_interface_of(setup);
  } catch (const UsageError& error) {
    refuse(setup, conductor, error);
    throw;
  }
  const auto cores = measure::allowed_cores(), near = measure::cores_near(member.interfaces);
  Joined joined{.node = measure::node_id(),
                .facts = {},
                .listeners = {},
                .core = cores.size() == 1 ? cores.front() : -1,
                .far = !near.empty() && !std::ranges::includes(near, cores)};
  if (setup.tells_of_node) joined.facts = json::write(measure::node_facts(member.interfaces));
  auto listened = member.interfaces;
  if (!setup.control_interface.empty()) listened.push_back(member.control_interface);
  for (const auto& interface : listened) {
    member.acceptors.emplace_back(interface, setup.secret);
    joined.listeners.push_back(member.acceptors.back().address().text());
  }
  const auto deadline = after_seconds(setup.timeout_seconds);
  while (!member.control) {
    try {
      member.control = connect_to_conductor(setup, conductor, deadline);
    } catch (const ConnectionLost& lost) {
      if (milliseconds_left(deadline) == 0)
        throw RunError(no_way_to_rank_0(setup, member.control_interface, lost));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  send_frame(member.control.get(), FrameType::joined, pack(joined), deadline);
  return member;
}

}  // namespace crosscut::session
