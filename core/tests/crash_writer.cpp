// Writes a made-up run block by block, to be killed at any moment: `crash_writer DIR [resume] [summaries]`.
// tests/integration/test_store_crash.py kills it, reads the run, and resumes it.
#include <algorithm>
#include <iostream>
#include <string_view>

#include "base/error.hpp"
#include "tests/sample_run.hpp"

using namespace crosscut;
using namespace crosscut::store;
using namespace crosscut::tests;

namespace {

// Many chunks per size, cut by phases (a phase of 400 ranks is large) or by repetitions.
const Shape shape_of_many_phases{{1000, 2000}, 3, 300, 100, 3};
const Shape shape_of_many_repetitions{{1000, 2000}, 500, 15, 24, 2};

void write_run(const std::string& directory, const Shape& shape, bool resume, bool summaries) {
  Store::Options options = sample::options(shape);
  options.compute = true;
  options.kept = summaries ? Kept::summaries : Kept::samples;
  const auto store = resume ? Store::resume(directory, options, false) : Store::create(directory, options);
  for (std::int32_t size = 0; size < static_cast<std::int32_t>(shape.sizes.size()); ++size) {
    store->set_iterations(size, 7);
    Block block{size, 0, 0, 0, 0};
    block = store->largest_block(size, 0, 0);
    do {
      const std::vector<bool> done = store->done(block);
      if (std::find(done.begin(), done.end(), false) == done.end()) continue;
      store->commit(sample::data(options, block));
      std::cout << size << ' ' << block.repetition_first << ' ' << block.repetition_end << ' '
                << block.phase_first << ' ' << block.phase_end << std::endl;
    } while (sample::next_block(*store, shape, block));
    store->set_repetitions_done(
        size, std::vector<std::int64_t>(static_cast<std::size_t>(shape.phases), shape.repetitions));
  }
  store->finish("complete", {});
}

}  // namespace

int main(int argc, char** argv) {
  bool resume = false, summaries = false, many_repetitions = false;
  for (int i = 2; i < argc; ++i) {
    resume |= argv[i] == std::string_view("resume");
    summaries |= argv[i] == std::string_view("summaries");
    many_repetitions |= argv[i] == std::string_view("many-repetitions");
  }
  if (argc < 2) {
    std::cerr << "usage: crash_writer DIR [resume] [summaries] [many-repetitions]\n";
    return 2;
  }
  try {
    write_run(argv[1], many_repetitions ? shape_of_many_repetitions : shape_of_many_phases, resume,
              summaries);
    return 0;
  } catch (const UsageError& error) {
    std::cerr << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
