// The final report of a benchmark.
#pragma once

#include <span>
#include <string>

#include "npb/common/benchmark.hpp"

namespace crosscut::npb {

// Results over all ranks.
struct Report {
  About about;
  char class_letter = 'S';
  int ranks = 0;
  Outcome outcome;     // of rank 0
  double seconds = 0;  // of the slowest rank, as in NPB
  double minimum_communication_seconds = 0;
  double median_communication_seconds = 0;
  double maximum_communication_seconds = 0;

  bool verified() const;
  double million_operations_per_second() const;
};

// `seconds` and `communication_seconds` are [rank].
Report make_report(const About& about, ProblemClass problem_class, Outcome outcome,
                   std::span<const double> seconds, std::span<const double> communication_seconds);

std::string for_people(const Report& report);
// Returns one object on one line.
std::string as_json(const Report& report);

}  // namespace crosscut::npb
