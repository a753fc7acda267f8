#include "program/moved_bytes.hpp"

#include <algorithm>

namespace crosscut::program {

std::int64_t most_moved_bytes(const Phase& phase, Rank ranks) {
  std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks)), received(sent.size());
  std::vector<Op> ops;
  for (Rank rank = 0; rank < ranks; ++rank) {
    ops.clear();
    phase.emit(rank, ops);
    // As in a run, the rank that times a message counts as its receiver.
    for (const auto& op : ops) {
      if (op.slot < 0) continue;
      received[static_cast<std::size_t>(rank)] += op.counted_bytes();
      sent[static_cast<std::size_t>(op.peer)] += op.counted_bytes();
    }
  }
  const auto most = [](const std::vector<std::int64_t>& bytes) {
    return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
  };
  return std::max(most(sent), most(received));
}

}  // namespace crosscut::program
