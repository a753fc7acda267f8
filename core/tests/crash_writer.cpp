// Writes a made-up run block by block, to be killed at any moment: `crash_writer DIR [WORD…]`. Each committed
// block is a line on standard output. tests/integration/test_store_crash.py kills it, reads the run, and
// resumes it; test_power_loss.py has its writes recorded.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "store/summary.hpp"
#include "tests/sample_run.hpp"

using namespace crosscut;
using namespace crosscut::store;
using namespace crosscut::tests;

namespace {

// Many chunks per size, cut by phases (a phase of 400 ranks is large) or by repetitions.
const Shape shape_of_many_phases{{1000, 2000}, 3, 300, 100, 3};
const Shape shape_of_many_repetitions{{1000, 2000}, 500, 15, 24, 2};
// Few writes, in blocks smaller than the only chunk of a size.
const Shape small_shape{{1000, 2000}, 2, 5, 4, 2};

struct Wanted {
  Shape shape = shape_of_many_phases;
  Kept kept = Kept::samples;
  bool resume = false, small = false;
  bool failing = false;  // a rank of each block fails at first
  bool half = false;     // only the first size
};

Block cut(Block block) {
  block.phase_end = std::min(block.phase_end, block.phase_first + 3);
  block.repetition_end = block.repetition_first + 1;
  return block;
}

void commit(Store& store, const Store::Options& options, const Block& block, bool fails) {
  BlockData data = sample::data(options, block);
  if (store.kept() == Kept::phase_summaries)
    data.phases = summarise_phases(data, options.shape,
                                   std::vector<std::int64_t>(static_cast<std::size_t>(block.phases()), 11));
  if (fails)
    for (std::size_t rank = 0; rank < data.status.size(); rank += 3) data.status[rank] = Status::failed;
  if (fails)
    data.rank_seconds.assign(data.rank_seconds.size(), 1);  // differ from those of the second attempt
  store.commit(data);
}

// Writes at once and past the C library, so that the line lies between the writes around it.
void say(std::int32_t size, const Block& block) {
  std::ostringstream line;
  line << size << ' ' << block.repetition_first << ' ' << block.repetition_end << ' ' << block.phase_first
       << ' ' << block.phase_end << '\n';
  const std::string text = line.str();
  if (std::cmp_not_equal(::write(STDOUT_FILENO, text.data(), text.size()), text.size()))
    throw RunError("cannot write to standard output");
}

void write_run(const std::string& directory, const Wanted& wanted) {
  const Shape& shape = wanted.shape;
  Store::Options options = sample::options(shape);
  options.compute = wanted.kept != Kept::phase_summaries;
  options.kept = wanted.kept;
  const auto store =
      wanted.resume ? Store::resume(directory, options, false) : Store::create(directory, options);
  for (std::int32_t size = 0; size < static_cast<std::int32_t>(shape.sizes.size()); ++size) {
    store->set_iterations(size, 7);
    Block block{size, 0, 0, 0, 0};
    block = store->largest_block(size, 0, 0);
    do {
      if (wanted.small && !store->phase_by_phase()) block = cut(block);
      const std::vector<bool> done = store->done(block);
      if (std::find(done.begin(), done.end(), false) == done.end()) continue;
      if (wanted.failing) commit(*store, options, block, true);
      commit(*store, options, block, false);
      say(size, block);
    } while (sample::next_block(*store, shape, block));
    if (wanted.half) return;
    store->set_repetitions_done(
        size, std::vector<std::int64_t>(static_cast<std::size_t>(shape.phases), shape.repetitions));
  }
  store->finish("complete", {});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: crash_writer DIR [resume] [summaries | phases] [many-repetitions | small] [failing] "
                 "[half]\n";
    return 2;
  }
  Wanted wanted;
  for (const std::string_view word : std::span(argv + 2, argv + argc)) {
    wanted.resume |= word == "resume";
    wanted.failing |= word == "failing";
    wanted.small |= word == "small";
    wanted.half |= word == "half";
    if (word == "summaries") wanted.kept = Kept::summaries;
    if (word == "phases") wanted.kept = Kept::phase_summaries;
    if (word == "small") wanted.shape = small_shape;
    if (word == "many-repetitions") wanted.shape = shape_of_many_repetitions;
  }
  try {
    write_run(argv[1], wanted);
    return 0;
  } catch (const UsageError& error) {
    std::cerr << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
