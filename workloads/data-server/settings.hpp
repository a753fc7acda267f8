// Settings from the command line.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "npb/common/problem_class.hpp"
#include "program/arguments.hpp"
#include "program/computing.hpp"

namespace crosscut::data_server {

// How a process waits for messages.
//   receive: in MPI's waiting calls, which poll in most libraries, and yield after a while
//   poll: tests again and again, never giving up the processor
//   yield: tests, and offers the processor to others between tests
//   sleep: tests, and sleeps between tests, like a process that blocks in the kernel
enum class Waiting : std::uint8_t { receive, poll, yield, sleep };
inline constexpr std::array<std::string_view, 4> waiting_words{"receive", "poll", "yield", "sleep"};

// Bode et al. 2004, section on GAMESS: `matched` has one processor per process, `overloaded` one per
// computing process together with its server.
enum class Sharing : std::uint8_t { unpinned, matched, overloaded };
inline constexpr std::array<std::string_view, 3> sharing_words{"unpinned", "matched", "overloaded"};

// pairs: even ranks compute, odd ranks serve; halves: the first half computes, the second half serves.
enum class Arrangement : std::uint8_t { pairs, halves };
inline constexpr std::array<std::string_view, 2> arrangement_words{"pairs", "halves"};

// cyclic: task t goes to computing process t mod n; counter: a server hands out tasks one by one.
enum class Balance : std::uint8_t { cyclic, counter };
inline constexpr std::array<std::string_view, 2> balance_words{"cyclic", "counter"};

struct Settings {
  std::int64_t order = 0;  // the array is order x order doubles
  std::int64_t block = 0;  // rows and columns of the block that one get fetches
  std::int64_t tasks = 0;
  std::int64_t gets = 2;             // per task
  double operations_per_byte = 500;  // floating-point operations per byte fetched
  Balance balance = Balance::cyclic;
  Arrangement arrangement = Arrangement::pairs;
  Sharing sharing = Sharing::unpinned;
  Waiting waiting = Waiting::receive;            // of servers
  Waiting computing_waiting = Waiting::receive;  // of computing processes
  std::int64_t pause_microseconds = 50;          // of Waiting::sleep
  std::int64_t seed = 1;

  // Rounds of computing for each element of a task's block.
  std::int64_t rounds() const {
    const double bytes = static_cast<double>(gets) * sizeof(double);  // fetched per element of a block
    return std::llround(operations_per_byte * bytes / program::operations_per_round);
  }
  double operations_per_task() const {
    return static_cast<double>(block * block) * static_cast<double>(rounds()) * program::operations_per_round;
  }
};

inline void set_class(Settings& settings, npb::ProblemClass problem_class) {
  struct Size {
    std::int64_t order, block, tasks;
  };
  // From 2 MiB per array and 8 KiB per get to 2 GiB and 512 KiB.
  constexpr npb::PerClass<Size> sizes{
      {{{512, 32, 512}, {1024, 64, 1024}, {4096, 128, 4096}, {8192, 128, 16384}, {16384, 256, 16384}}}};
  const Size& size = sizes[problem_class];
  settings.order = size.order;
  settings.block = size.block;
  settings.tasks = size.tasks;
}

inline void declare(Settings& settings, program::Arguments& arguments) {
  arguments.whole(
      "--array", "N", settings.order, {2, 131072},
      "rows and columns of the distributed array of doubles (there are two: one read, one added to)");
  arguments.whole("--block", "N", settings.block, {1, 4096}, "rows and columns of the blocks fetched");
  arguments.whole("--tasks", "N", settings.tasks, {1, 100000000},
                  "how often blocks are fetched, computed with and added to the array");
  arguments.whole("--gets", "N", settings.gets, {1, 64}, "blocks that a task fetches (2)");
  arguments.number("--operations-per-byte", "X", settings.operations_per_byte, 1e6,
                   "floating-point operations for each byte fetched (500)");
  arguments.choice("--balance", balance_words, settings.balance,
                   "who does which task: in turn (cyclic), or as a server hands them out (counter)");
  arguments.choice("--roles", arrangement_words, settings.arrangement,
                   "who serves: every other rank (pairs), or the second half of the ranks (halves)");
  arguments.choice(
      "--processors", sharing_words, settings.sharing,
      "the kernel decides (unpinned); one per process (matched); one per computing process and its server "
      "together (overloaded)");
  arguments.choice(
      "--waiting", waiting_words, settings.waiting,
      "how servers wait for requests: in MPI_Waitany (receive), or in MPI_Testany, again and again (poll), "
      "with sched_yield between (yield) or with nanosleep between (sleep)");
  arguments.choice("--computing-waiting", waiting_words, settings.computing_waiting,
                   "how computing processes wait for answers: in MPI_Waitall (receive), or as above");
  arguments.whole("--pause", "MICROSECONDS", settings.pause_microseconds, {1, 100000},
                  "pause of sleep (50; kernels add about 50)");
  arguments.whole("--seed", "N", settings.seed, {0, 1000000000}, "for the tasks' places in the array (1)");
}

// Returns why this number of ranks cannot run these settings; empty if it can.
inline std::string unsuitable(const Settings& settings, int ranks) {
  if (ranks % 2 != 0)
    return std::to_string(ranks) + " ranks: it takes an even number, with a server for each computing rank";
  if (settings.block > settings.order)
    return "--block " + std::to_string(settings.block) + ": the array has " + std::to_string(settings.order) +
           " rows";
  return "";
}

}  // namespace crosscut::data_server
