// What was asked for on the command line, and the scenario that it makes.
#pragma once

#include <cstdint>
#include <string>

#include "program/arguments.hpp"
#include "traffic/scenario.hpp"

namespace crosscut::traffic {

class Settings {
 public:
  void set_class(npb::ProblemClass problem_class) { class_ = problem_class; }
  void declare(program::Arguments& arguments);

  Scenario scenario() const;
  // Whether the scenario is that of a class; then its checksum may be known.
  bool is_of_class() const;
  npb::ProblemClass problem_class() const { return class_; }

  // Why so many ranks cannot run it; empty where they can.
  std::string unsuitable(int ranks) const;

 private:
  static constexpr std::int64_t as_the_class = -1;

  npb::ProblemClass class_ = npb::ProblemClass::S;
  Shape shape_ = Shape::everyday;
  std::int64_t columns_ = as_the_class, rows_ = as_the_class, agents_ = as_the_class, steps_ = as_the_class,
               zones_ = as_the_class, seed_ = as_the_class;
};

}  // namespace crosscut::traffic
