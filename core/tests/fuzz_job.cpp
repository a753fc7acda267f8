// A session's job.
#include "conduct/job.hpp"
#include "tests/fuzz.hpp"

using namespace crosscut;
using namespace crosscut::conduct;
using namespace crosscut::tests;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  accepts([&] {
    const Job job = parse_job(json::parse(text_of(data, size)));
    hold(!job.pattern.empty(), "a job has a pattern");
    hold(job.repetitions >= 0 && job.warm_up >= 0 && job.iterations >= 0, "numbers are within their bounds");
    for (const std::int64_t bytes : job.sizes) hold(bytes >= 0, "sizes are not negative");
    const std::string written = json::write(to_json(job));
    hold(json::write(to_json(parse_job(json::parse(written)))) == written, "a job travels unchanged");
  });
  return 0;
}
