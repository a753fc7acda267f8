// What the command line says.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "program/arguments.hpp"

namespace crosscut::data_server {

// How a process waits for messages.
//   receive: in MPI's own calls, which in most libraries poll, and give way after a while
//   poll: asking again and again, so that a processor is never given up
//   yield: asking, and offering the processor to others between questions
//   sleep: asking, and sleeping between questions, as a process that blocks in the kernel does
enum class Waiting : std::uint8_t { receive, poll, yield, sleep };
inline constexpr std::array<std::string_view, 4> waiting_words{"receive", "poll", "yield", "sleep"};

// Bode et al. 2004, section on GAMESS: `matched` has a processor for every process, `overloaded` one for each
// computing process and its server together.
enum class Sharing : std::uint8_t { unpinned, matched, overloaded };
inline constexpr std::array<std::string_view, 3> sharing_words{"unpinned", "matched", "overloaded"};

// pairs: an even rank computes, the next serves; halves: the first half of the ranks compute, the second
// serves.
enum class Arrangement : std::uint8_t { pairs, halves };
inline constexpr std::array<std::string_view, 2> arrangement_words{"pairs", "halves"};

// cyclic: task t is the (t mod n)th computing process's; counter: a server hands tasks out one by one.
enum class Balance : std::uint8_t { cyclic, counter };
inline constexpr std::array<std::string_view, 2> balance_words{"cyclic", "counter"};

struct Settings {
  std::int64_t order = 0;  // the array is order x order doubles
  std::int64_t block = 0;  // rows and columns that one get brings
  std::int64_t tasks = 0;
  std::int64_t gets = 2;             // of each task
  double operations_per_byte = 500;  // floating-point operations for each byte that was fetched
  Balance balance = Balance::cyclic;
  Arrangement arrangement = Arrangement::pairs;
  Sharing sharing = Sharing::unpinned;
  Waiting waiting = Waiting::receive;            // of servers
  Waiting computing_waiting = Waiting::receive;  // of computing processes
  std::int64_t pause_microseconds = 50;          // of Waiting::sleep
  std::int64_t seed = 1;

  // Of each element of the block that a task works on.
  std::int64_t rounds() const;
  double operations_per_task() const;
};

void set_class(Settings& settings, npb::ProblemClass problem_class);
void declare(Settings& settings, program::Arguments& arguments);
// Why so many ranks cannot run these; empty where they can.
std::string unsuitable(const Settings& settings, int ranks);

}  // namespace crosscut::data_server
