// `crosscut-core list`: lists patterns and backends for people or, in more detail, for programs (--json); or
// what backends can use on this machine, GPUs included (--devices).
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "commands/commands.hpp"
#include "measure/gpu.hpp"
#include "program/list.hpp"
#include "program/registry.hpp"

namespace crosscut::commands {
namespace {

void print_entry(std::string_view name, std::string_view summary, std::string_view unavailable) {
  std::string line = "  " + std::string(name);
  line.resize(std::max<std::size_t>(line.size() + 1, 24), ' ');
  line += summary;
  if (!unavailable.empty()) line += " (not available: " + std::string(unavailable) + ")";
  std::puts(line.c_str());
}

json::Value devices() {
  json::Array list;
  for (const auto* backend : program::backends()) {
    if (backend->devices == nullptr || !backend->why_unavailable().empty()) continue;
    for (const auto& [name, text] : backend->devices())
      list.push_back(json::Object{{"backend", backend->name}, {"name", name}, {"text", text}});
  }
  for (const auto& [name, text] : measure::found_gpus())
    list.push_back(json::Object{{"backend", "GPU"}, {"name", name}, {"text", text}});
  return list;
}

}  // namespace

bool print_help(int argc, char** argv, std::string_view help) {
  const bool asked =
      std::any_of(argv, argv + argc, [](std::string_view word) { return word == "--help" || word == "-h"; });
  if (asked) print(help);
  return asked;
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int list_main(int argc, char** argv) {
  const std::string_view option = argc == 2 ? argv[1] : "";
  if (argc > 2 || (argc == 2 && option != "--json" && option != "--devices")) {
    throw UsageError("list takes no option but --json or --devices");
  }
  if (argc == 2) {
    print(json::write(option == "--json" ? program::describe() : devices(), 2) + "\n");
    return 0;
  }
  std::puts("patterns");
  for (const auto* pattern : program::patterns()) print_entry(pattern->name, pattern->summary, {});
  std::puts("backends");
  for (const auto* backend : program::backends())
    print_entry(backend->name, backend->summary, backend->why_unavailable());
  return 0;
}

}  // namespace crosscut::commands
