#include "smpi/smpi_block.hpp"

#include "base/error.hpp"
#include "base/json.hpp"
#include "program/in_flight.hpp"

namespace crosscut::smpi {

std::string write_block(const SmpiBlock& block) {
  json::Object parameters;
  for (const auto& [name, value] : block.parameters) parameters.emplace_back(name, value);
  return json::write(json::Object{{"pattern", block.pattern},
                                  {"parameters", std::move(parameters)},
                                  {"bytes", block.bytes},
                                  {"phase_first", block.phase_first},
                                  {"phase_end", block.phase_end},
                                  {"slots", block.slots},
                                  {"window", block.window},
                                  {"send_overhead", block.overheads.send},
                                  {"receive_overhead", block.overheads.receive}}) +
         "\n";
}

SmpiBlock parse_block(std::string_view line) {
  const auto value = json::parse(line);
  SmpiBlock block{.pattern = value.at("pattern").string(),
                  .parameters = {},
                  .bytes = value.at("bytes").integer(),
                  .phase_first = value.at("phase_first").integer(),
                  .phase_end = value.at("phase_end").integer(),
                  .slots = value.at("slots").integer(),
                  .window = value.at("window").integer(),
                  .overheads = {.send = value.at("send_overhead").number(),
                                .receive = value.at("receive_overhead").number()}};
  for (const auto& [name, text] : value.at("parameters").object()) block.parameters[name] = text.string();
  if (block.bytes < 0 || block.phase_first < 0 || block.phase_end < block.phase_first || block.slots < 0 ||
      block.slots > (std::int64_t{1} << 31) || block.window < 1 || block.window > program::widest_window)
    throw UsageError(
        "the request for a block of phases is out of range; are core and player from the same build?");
  return block;
}

}  // namespace crosscut::smpi
