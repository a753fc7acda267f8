// JSON that was read can be written, and reads back the same.
#include "base/json.hpp"
#include "tests/fuzz.hpp"

using namespace crosscut;
using namespace crosscut::tests;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = text_of(data, size);
  accepts([&] {
    const json::Value value = json::parse(text);
    for (const int indent : {0, 2}) {
      const std::string written = json::write(value, indent);
      hold(json::write(json::parse(written), indent) == written,
           "written, read and written again it is the same");
    }
  });
  accepts([&] { json::parse(text, {.bytes = 64, .depth = 3, .values = 8}); });
  return 0;
}
