// The description of a benchmark for its program: name, suitable numbers of ranks, and how to run it.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npb/common/communicator.hpp"
#include "npb/common/problem_class.hpp"

namespace crosscut::npb {

struct Options {
  ProblemClass problem_class = ProblemClass::S;
  std::optional<std::array<int, 2>> grid{};  // FT: ranks along the second and the third dimension
};

// A number that the benchmark computes, with the published one.
struct Check {
  std::string name;
  double computed = 0;
  double published = 0;
  double tolerance = 0;                   // relative; absolute if the published value is 0
  std::string_view origin = "published";  // source of the expected value

  double error() const {
    const double difference = std::abs(computed - published);
    return published == 0 ? difference : difference / std::abs(published);
  }
  // A NaN does not hold.
  bool holds() const { return error() <= tolerance; }
};

// A measured value other than time, for people and programs.
struct Figure {
  std::string name;
  double value = 0;
  std::string unit;  // "s", "B/s", "1/s", "share" (1 is all)
  std::string at{};  // distinguishes figures of one name: "64 KiB"
};

// Results of one rank.
struct Outcome {
  double seconds = 0;  // timed part only
  double communication_seconds = 0;
  int iterations = 0;
  double million_operations = 0;  // of all ranks, as counted by NPB
  std::string size{};             // "64 x 64 x 64", "65536 keys"
  std::string layout{};           // division among ranks: "2 x 4 ranks"
  std::vector<Check> checks{};    // read at rank 0 only
  std::vector<Figure> figures{};  // likewise
};

struct About {
  std::string_view name;  // "is", "data-server"
  std::string_view title;
  std::string_view operation = "floating-point operations";  // what Mop/s counts
};

struct Benchmark {
  About about;
  bool takes_grid = false;
  // Returns why this number of ranks cannot run it, and which can; empty if it can.
  std::string (*unsuitable)(int ranks, const Options& options);
  Outcome (*run)(Communicator& world, const Options& options);
};

// Defined once per executable, by its benchmark.
extern const Benchmark benchmark;

// Marks the beginning (1) or end (0) of a timed part for profilers. SMPI aborts at MPI_Pcontrol.
inline void mark([[maybe_unused]] int level) {
#ifndef SMPI_H
  MPI_Pcontrol(level);
#endif
}

// Times `work`, and marks it for profilers. All ranks begin together.
template <typename Work>
Outcome timed(Communicator& world, Work&& work) {
  world.barrier();
  const double communication_before_seconds = world.seconds(), begin_seconds = MPI_Wtime();
  mark(1);
  work();
  const Outcome outcome{.seconds = MPI_Wtime() - begin_seconds,
                        .communication_seconds = world.seconds() - communication_before_seconds};
  mark(0);
  return outcome;
}

// Returns a product as text: "64 x 64 x 32".
std::string product_text(std::integral auto first, std::integral auto... others) {
  return (std::to_string(first) + ... + (" x " + std::to_string(others)));
}

inline bool is_power_of_two(int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); }

// Texts for `unsuitable`. The second one is empty up to `most` ranks; `what` is its subject and verb: "the
// grid of class S is".
inline std::string not_a_power_of_two(int ranks) {
  const auto below = std::bit_floor(static_cast<unsigned>(ranks));
  return std::to_string(ranks) + " ranks: it takes a power of two, such as " + std::to_string(below) +
         " or " + std::to_string(2 * below);
}
inline std::string at_most(std::int64_t most, int ranks, const std::string& what) {
  if (ranks <= most) return "";
  return std::to_string(ranks) + " ranks: " + what + " for " + std::to_string(most) + " ranks at most";
}

}  // namespace crosscut::npb
