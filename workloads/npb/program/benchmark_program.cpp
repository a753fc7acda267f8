#include "npb/program/benchmark_program.hpp"

#include <algorithm>
#include <charconv>

namespace crosscut::npb {
namespace {

// Reads "2x8". Returns the problem, or an empty text.
std::string take_grid(std::string_view typed, std::optional<std::array<int, 2>>& into) {
  std::array<int, 2> grid{};
  const char *const begin = typed.data(), *const end = begin + typed.size();
  const auto first = std::from_chars(begin, end, grid[0]);
  const bool has_cross = first.ptr != end && *first.ptr == 'x';
  const auto second = std::from_chars(has_cross ? first.ptr + 1 : end, end, grid[1]);
  if (first.ec != std::errc() || second.ec != std::errc() || second.ptr != end || std::ranges::min(grid) < 1)
    return "write two numbers of ranks, such as 2x8";
  into = grid;
  return "";
}

class BenchmarkProgram final : public program::Application {
 public:
  explicit BenchmarkProgram(const Benchmark& benchmark) : benchmark_(benchmark) {}

  About about() const override { return benchmark_.about; }
  std::string program() const override { return "crosscut-npb-" + std::string(benchmark_.about.name); }
  void preset(ProblemClass problem_class) override { options_.problem_class = problem_class; }
  void declare(program::Arguments& arguments) override {
    if (!benchmark_.takes_grid) return;
    arguments.add("--grid", "AxB",
                  "ranks along y and z; without it 1 x RANKS (slabs) while there are enough planes",
                  [this](std::string_view typed) { return take_grid(typed, options_.grid); });
  }
  std::string unsuitable(int ranks) const override { return benchmark_.unsuitable(ranks, options_); }
  Outcome run(Communicator& world) override { return benchmark_.run(world, options_); }

 private:
  const Benchmark& benchmark_;
  Options options_;
};

}  // namespace

std::unique_ptr<program::Application> program_of(const Benchmark& about) {
  return std::make_unique<BenchmarkProgram>(about);
}

}  // namespace crosscut::npb

std::unique_ptr<crosscut::program::Application> crosscut::program::make_application() {
  return npb::program_of(npb::benchmark);
}
