// What a library's collective returns, computed plainly from all ranks' vectors.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "program/program.hpp"

namespace crosscut::tests {

inline void give_result(const program::Op& op, std::size_t own,
                        const std::vector<std::vector<std::byte>>& vectors, std::byte* result) {
  using program::Collective, program::word_bytes;
  const std::size_t whole = vectors.front().size();
  const std::size_t block = whole / vectors.size();
  for (std::size_t at = 0; at < whole; at += word_bytes) {
    std::uint32_t sum = 0, word = 0;
    for (const auto& vector : vectors) std::memcpy(&word, vector.data() + at, word_bytes), sum += word;
    if (op.collective == Collective::all_reduce) std::memcpy(result + at, &sum, word_bytes);
    if (op.collective == Collective::reduce_scatter && at / block == own)
      std::memcpy(result + at % block, &sum, word_bytes);
  }
  for (std::size_t from = 0; from < vectors.size(); ++from) {
    const std::byte* const vector = vectors[from].data();
    if (op.collective == Collective::all_gather)
      std::copy_n(vector + (op.in_place ? from * block : 0), block, result + from * block);
    if (op.collective == Collective::all_to_all)
      std::copy_n(vector + own * block, block, result + from * block);
    if (op.collective == Collective::all_to_all_v) {
      const auto distance = static_cast<std::int64_t>((own + vectors.size() - from) % vectors.size());
      const auto before = distance * (distance + 1) / 2,
                 parts = std::ssize(vectors) * (std::ssize(vectors) + 1) / 2;
      const auto begin = std::ssize(vectors.front()) * before / parts;
      const auto end = std::ssize(vectors.front()) * (before + distance + 1) / parts;
      std::copy(vector + begin, vector + end, result + begin);
    }
  }
  if (op.collective == Collective::broadcast) std::ranges::copy(vectors.front(), result);
}

}  // namespace crosscut::tests
