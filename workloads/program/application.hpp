// A program with options of its own, as `main` sees it. Each executable has one.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "npb/common/benchmark.hpp"
#include "program/arguments.hpp"

namespace crosscut::program {

using npb::Communicator;
using npb::Figure;
using npb::Outcome;

// What was asked for cannot be had of these machines; thrown on all ranks or on none.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Application {
 public:
  virtual ~Application() = default;

  virtual std::string_view name() const = 0;  // "data-server"
  virtual std::string_view title() const = 0;
  // What the millions a second are of.
  virtual std::string_view operation() const { return "floating-point operations"; }
  // Sizes of a class; options change them afterwards.
  virtual void preset(ProblemClass problem_class) = 0;
  virtual void declare(Arguments& arguments) = 0;
  // Why so many ranks cannot run it with these options; empty where they can.
  virtual std::string unsuitable(int ranks) const = 0;
  // A rank whose communication says nothing, since it does nothing else, gives NaN for its seconds.
  virtual Outcome run(Communicator& world) = 0;
};

std::unique_ptr<Application> make_application();

}  // namespace crosscut::program
