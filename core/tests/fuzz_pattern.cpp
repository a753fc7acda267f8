// Every registered pattern refuses parameters from a stranger, or its programs are sound, with any number of
// messages in flight and of rails.
#include <map>

#include "program/in_flight.hpp"
#include "program/registry.hpp"
#include "tests/checking/check_program.hpp"
#include "tests/fuzz.hpp"

using namespace crosscut;
using namespace crosscut::program;
using namespace crosscut::tests;

namespace {

// `tame`: keeps programs short enough to be checked.
std::string value_for(const Parameter& parameter, FuzzedDataProvider& input, bool tame) {
  using Kind = Parameter::Kind;
  const auto number = [&] {
    if (tame) return input.ConsumeIntegralInRange<std::int64_t>(0, 40);
    return input.ConsumeBool() ? input.ConsumeIntegral<std::int64_t>()
                               : static_cast<std::int64_t>(parameter.maximum);
  };
  const auto rank = [&] { return std::to_string(input.ConsumeIntegralInRange(0, tame ? 12 : 1 << 14)); };
  if (input.ConsumeIntegralInRange(0, 7) == 0) return input.ConsumeRandomLengthString(40);
  switch (parameter.kind) {
    case Kind::integer:
    case Kind::real:
    case Kind::seconds:
      return std::to_string(number());
    case Kind::bytes:
      return std::to_string(number() + (tame ? 1000 : 0));
    case Kind::rate:
      return std::to_string(number()) + " Mbit/s";
    case Kind::boolean:
      return input.ConsumeBool() ? "true" : "false";
    case Kind::choice:
      return std::string(input.PickValueInArray({parameter.choices.front(), parameter.choices.back(),
                                                 parameter.choices[parameter.choices.size() / 2]}));
    case Kind::ranks:
    case Kind::text:
      return rank() + "-" + rank() + (input.ConsumeBool() ? "," + rank() : "");
    case Kind::pairs:
      return rank() + "-" + rank() + "," + rank() + ".." + rank() + "-" + rank() + ".." + rank();
  }
  return {};
}

// Checks what a pattern promises without making a program.
void check_extent(const Pattern& pattern, Rank ranks, std::int64_t bytes) {
  const Extent extent = pattern.extent(ranks, bytes);
  hold(extent.phases >= 0 && extent.slots >= 0, "phases and slots are counted");
  hold(extent.channels >= 1 && extent.channels <= 256 && extent.rails >= 1 && extent.rails <= 256,
       "channels and rails fit an operation");
  hold(extent.send_bytes >= 0 && extent.receive_bytes >= 0, "buffers have a size");
  for (const std::int64_t size : pattern.default_sizes()) hold(size >= 0, "sizes are not negative");
}

void check_one(FuzzedDataProvider& input) {
  const auto all = patterns();
  const PatternInfo& info = *all[input.ConsumeIntegralInRange<std::size_t>(0, all.size() - 1)];
  const bool tame = input.ConsumeBool();
  const Rank ranks = input.ConsumeIntegralInRange<Rank>(2, tame ? 13 : 300);
  const auto bytes = input.ConsumeIntegralInRange<std::int64_t>(0, tame ? 3000 : std::int64_t{1} << 40);
  std::map<std::string, std::string> given;
  for (const Parameter& parameter : info.parameters)
    if (input.ConsumeBool() || (tame && parameter.maximum > 40))
      given[std::string(parameter.name)] = value_for(parameter, input, tame);
  const auto window = input.ConsumeIntegralInRange(1, tame ? 3 : widest_window);
  const auto rails = info.has_rails() ? 1 : input.ConsumeIntegralInRange(1, tame ? 3 : most_rails);
  const auto pattern = in_flight(info.make(Parameters(info.parameters, given, "pattern")), window, rails);
  if (!pattern->refuse(ranks).empty()) return;
  check_extent(*pattern, ranks, bytes);
  if (!tame || pattern->extent(ranks, bytes).slots > 100) return;
  const std::string problem = check_program(*pattern, ranks, bytes, {.seed = 1, .most_phases = 2});
  hold(problem.empty(), std::string(info.name) + ": " + problem);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  accepts([&] { check_one(input); });
  return 0;
}
