// A running simulation under SimGrid's SMPI: smpirun with crosscut's player. It is a separate process, so
// SimGrid (LGPL) never becomes part of crosscut-core.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "smpi/smpi_block.hpp"
#include "smpi/smpi_options.hpp"

namespace crosscut::smpi {

// Name of the player, which lies beside crosscut-core. CROSSCUT_SMPI_PLAYER names another file.
inline constexpr std::string_view smpi_player_name = "crosscut-smpi-player";
// Returns the player's path. Throws UsageError that says how to build it.
std::filesystem::path find_smpi_player();

class SmpiProcess {
 public:
  struct Setup {
    // `platform` and `hosts` are files written by `write_platform`. The simulation's output goes to `log`.
    std::filesystem::path platform, hosts, log;
    Rank ranks = 0;
    SmpiOptions options;
    // Called while a block is simulated. If it throws, this process is unusable.
    std::function<void()> idle = [] {};
  };
  // Returns when the simulation is ready. Throws UsageError if SimGrid or the player is missing.
  explicit SmpiProcess(Setup setup);

  // Returns the samples, laid out as in SmpiBlock.
  std::vector<double> play(const SmpiBlock& block);
  const std::string& simgrid_version() const { return version_; }
  const SmpiOptions& options() const { return setup_.options; }

 private:
  void start();
  std::size_t receive_some(std::span<std::byte> bytes);
  std::string receive_line();
  [[noreturn]] void throw_ended();

  // A child process and everything that it started; killed with this object.
  class Group {
   public:
    Group() = default;
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    ~Group() { end(SIGKILL); }
    pid_t& leader() { return leader_; }
    int end(int signal);  // returns the leader's wait status

   private:
    pid_t leader_ = -1;
  };

  Setup setup_;
  Group group_;
  Fd socket_;
  std::string version_;
};

}  // namespace crosscut::smpi
