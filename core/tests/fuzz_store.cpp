// Resuming a run that was tampered with: refused with the mistake, or continued.
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "tests/fuzz.hpp"
#include "tests/sample_run.hpp"

using namespace crosscut;
using namespace crosscut::store;
using namespace crosscut::tests;
namespace fs = std::filesystem;

namespace {

struct Original {
  fs::path path;
  std::string bytes;
};

void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// A half-measured run, and the contents of all its files.
class Run {
 public:
  Run() {
    std::string name = fs::exists("/dev/shm") ? "/dev/shm/crosscut-fuzz-XXXXXX" : "/tmp/crosscut-fuzz-XXXXXX";
    hold(::mkdtemp(name.data()) != nullptr, "there is a folder");
    folder_ = name;
    {
      const auto store = Store::create(run(), options());
      for (const std::int64_t repetition : {0, 1})
        store->commit(sample::data(options(), {0, 0, shape_.phases, repetition, repetition + 1}));
      store->set_iterations(0, 3);
    }
    for (const auto& entry : fs::recursive_directory_iterator(run()))
      if (entry.is_regular_file()) keep(entry.path());
    std::ranges::sort(originals_, {}, &Original::path);  // an input means the same on every machine
  }
  ~Run() { fs::remove_all(folder_); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  fs::path run() const { return folder_ / "run"; }
  Store::Options options() const { return sample::options(shape_); }
  const Shape& shape() const { return shape_; }
  const std::vector<Original>& originals() const { return originals_; }
  void restore() const {
    for (const auto& entry : fs::recursive_directory_iterator(run()))
      if (entry.is_regular_file() &&
          std::ranges::find(originals_, entry.path(), &Original::path) == originals_.end())
        fs::remove(entry.path());
    for (const Original& original : originals_) write(original.path, original.bytes);
  }

 private:
  void keep(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    originals_.push_back({path, {std::istreambuf_iterator<char>(file), {}}});
  }
  Shape shape_{{1000}, 4, 3, 3, 1};
  fs::path folder_;
  std::vector<Original> originals_;
};

// Changes some bytes of a file, its length, or all of it.
std::string tampered(std::string bytes, FuzzedDataProvider& input) {
  for (int changes = input.ConsumeIntegralInRange(0, 4); changes > 0 && !bytes.empty(); --changes) {
    const auto at = input.ConsumeIntegralInRange<std::size_t>(0, bytes.size() - 1);
    const auto length = input.ConsumeIntegralInRange<std::size_t>(0, 12);
    bytes.replace(at, std::min(length, bytes.size() - at), input.ConsumeRandomLengthString(24));
  }
  if (input.ConsumeBool()) bytes.resize(input.ConsumeIntegralInRange<std::size_t>(0, bytes.size() + 64));
  return bytes;
}

void go_on(const Run& original, bool force) {
  const auto store = Store::resume(original.run(), original.options(), force);
  const Shape& shape = original.shape();
  const Block all{0, 0, shape.phases, 0, shape.repetitions};
  hold(store->done(all).size() == static_cast<std::size_t>(shape.phases * shape.repetitions),
       "every cell has a status");
  hold(store->iterations(0) >= 0, "iterations are counted");
  hold(store->read_rank_seconds(all).size() ==
           static_cast<std::size_t>(shape.phases * shape.repetitions * shape.ranks),
       "every cell has its samples");
  for (std::int64_t repetition = 0; repetition < shape.repetitions; ++repetition)
    store->commit(sample::data(original.options(), {0, 0, shape.phases, repetition, repetition + 1}));
  const auto done = store->done(all);
  hold(std::ranges::find(done, false) == done.end(), "what was measured is done");
  store->finish("complete", {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Run original;
  FuzzedDataProvider input(data, size);
  const auto& files = original.originals();
  for (int tamperings = input.ConsumeIntegralInRange(1, 2); tamperings > 0; --tamperings) {
    const auto& [path, bytes] = files[input.ConsumeIntegralInRange<std::size_t>(0, files.size() - 1)];
    if (input.ConsumeIntegralInRange(0, 15) == 0)
      fs::remove(path);
    else
      write(path, tampered(bytes, input));
  }
  const bool force = input.ConsumeBool();
  accepts([&] { go_on(original, force); });
  original.restore();
  return 0;
}
