// A program as `main` sees it. Each executable has one.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "npb/common/benchmark.hpp"
#include "program/arguments.hpp"

namespace crosscut::program {

using npb::About;
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

  virtual About about() const = 0;
  virtual std::string program() const { return "crosscut-" + std::string(about().name); }
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
