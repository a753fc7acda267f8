// The interface between `main` and a program. Each executable has one Application.
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

// The machines cannot provide what the options request. Thrown on all ranks or on none.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Application {
 public:
  virtual ~Application() = default;

  virtual About about() const = 0;
  virtual std::string program() const { return "crosscut-" + std::string(about().name); }
  // Sets the sizes of a class; options change them afterwards.
  virtual void preset(ProblemClass problem_class) = 0;
  virtual void declare(Arguments& arguments) = 0;
  // Returns why this number of ranks cannot run the program with these options; empty if it can.
  virtual std::string unsuitable(int ranks) const = 0;
  // A rank that only communicates sets its communication seconds to NaN: they would mean nothing.
  virtual Outcome run(Communicator& world) = 0;
};

std::unique_ptr<Application> make_application();

}  // namespace crosscut::program
