// Command line of a program with options of its own. Each option names the variable that takes its value.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "npb/common/problem_class.hpp"

namespace crosscut::program {

using npb::ProblemClass;

struct UsageProblem {
  std::string text;
};
struct HelpAsked {};

struct Common {
  ProblemClass problem_class = ProblemClass::S;
  bool json = false;
};

class Arguments {
 public:
  struct Bounds {
    std::int64_t least, most;
  };

  // Variables and texts given here must outlive `parse`.
  void whole(std::string_view name, std::string_view placeholder, std::int64_t& into, Bounds bounds,
             std::string_view help);
  // A number from 0 to `most`.
  void number(std::string_view name, std::string_view placeholder, double& into, double most,
              std::string_view help);
  // Reads a list of byte counts: "1KiB,64KiB,1MB".
  void sizes(std::string_view name, std::vector<std::int64_t>& into, Bounds bounds, std::string_view help);
  // Reads one of `words` and stores its index.
  template <typename Enumeration>
  void choice(std::string_view name, std::span<const std::string_view> words, Enumeration& into,
              std::string_view help) {
    add_choice(
        name, words, [&into](std::size_t at) { into = static_cast<Enumeration>(at); }, help);
  }

  // `take` returns the problem, or an empty text.
  void add(std::string_view name, std::string_view placeholder, std::string_view help,
           std::function<std::string(std::string_view)> take);

  // Calls `preset` with the class before it takes any other option, wherever --class stands.
  std::variant<Common, UsageProblem, HelpAsked> parse(std::span<const char* const> words,
                                                      const std::function<void(ProblemClass)>& preset) const;

  // Returns two lines for each option.
  std::string help() const;

 private:
  struct Argument {
    std::string name, placeholder, help;
    std::function<std::string(std::string_view)> take;
  };

  void add_choice(std::string_view name, std::span<const std::string_view> words,
                  std::function<void(std::size_t)> into, std::string_view help);

  std::vector<Argument> arguments_;
};

// "64 KiB", "1000 B".
std::string size_text(std::int64_t bytes);

}  // namespace crosscut::program
