// The arithmetic of reductions: what a rank's own algorithm adds, and what a library's collective must
// return.
#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "measure/verify.hpp"
#include "program/blocks.hpp"
#include "program/program.hpp"

namespace crosscut::measure {

// The vector to which receives are added (program::Op::adds). Its values mean nothing: only the work counts.
class Sums {
 public:
  void reserve(std::int64_t bytes) {
    words_.assign(static_cast<std::size_t>(bytes / program::word_bytes), 0);
  }
  // Adds the whole words of a receive at its place in the vector.
  void add(const program::Op& op, const std::byte* data) {
    const auto first = static_cast<std::size_t>(op.offset / program::word_bytes);
    const auto count = static_cast<std::size_t>(op.bytes / program::word_bytes);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t word = 0;
      std::memcpy(&word, data + i * sizeof word, sizeof word);
      words_[first + i] += word;
    }
  }

 private:
  std::vector<std::uint32_t> words_;
};

struct WrongResult {
  Rank source;  // of the wrong byte; the rank itself for a sum, which has no single source
  Mismatch byte;
};

// Returns the first wrong byte of a collective's result on `rank`, if any. Every rank sent the payload of
// `key_of(rank)`; ranks are numbered among those that take part. In place, the result of `iterations` is
// checked: a sum is that of the first times ranks^(iterations - 1).
template <class KeyOf>
std::optional<WrongResult> wrong_result(const program::Op& op, const std::byte* result, Rank rank, Rank ranks,
                                        std::int64_t iterations, KeyOf&& key_of) {
  using enum program::Collective;
  const std::int64_t block = op.bytes / ranks;
  const auto copied = [&](Rank source, std::int64_t at, std::int64_t bytes,
                          std::int64_t offset) -> std::optional<WrongResult> {
    const auto wrong =
        check_payload(std::span(result + at, static_cast<std::size_t>(bytes)), key_of(source), offset);
    if (!wrong) return std::nullopt;
    return WrongResult{source, *wrong};
  };
  const auto summed = [&](std::int64_t from, std::int64_t bytes) -> std::optional<WrongResult> {
    std::vector<std::uint64_t> keys;
    for (Rank each = 0; each < ranks; ++each) keys.push_back(key_of(each));
    std::uint32_t times = 1;
    for (std::int64_t i = 1; op.in_place && i < iterations; ++i) times *= static_cast<std::uint32_t>(ranks);
    for (std::int64_t at = 0; at < bytes; at += program::word_bytes) {
      std::uint32_t expected = 0;
      for (const auto key : keys) {
        std::array<std::byte, program::word_bytes> sent{};
        fill_payload(sent, key, from + at);
        std::uint32_t word = 0;
        std::memcpy(&word, sent.data(), sizeof word);
        expected += word;
      }
      expected *= times;
      for (std::int64_t k = 0; k < program::word_bytes; ++k) {
        std::uint8_t right = 0;
        std::memcpy(&right, reinterpret_cast<const std::byte*>(&expected) + k, 1);
        const auto found = static_cast<std::uint8_t>(result[at + k]);
        if (found != right) return WrongResult{rank, {from + at + k, right, found}};
      }
    }
    return std::nullopt;
  };
  switch (op.collective) {
    case all_reduce:
      return summed(0, op.bytes);
    case reduce_scatter:
      return summed(rank * block, block);
    case broadcast:
      return rank == 0 ? std::nullopt : copied(0, 0, op.bytes, 0);
    case all_gather:
    case all_to_all:
      for (Rank source = 0; source < ranks; ++source) {
        // In place, a rank's own block lies where the result has it, and every second exchange undoes the
        // first.
        const bool undone = op.collective == all_to_all && op.in_place && iterations % 2 == 0;
        const std::int64_t offset = op.collective == all_to_all && !undone ? rank * block
                                    : op.in_place                          ? source * block
                                                                           : 0;
        if (const auto wrong = copied(undone ? rank : source, source * block, block, offset)) return wrong;
      }
      return std::nullopt;
    case all_to_all_v:
      for (Rank distance = 0; distance < ranks; ++distance) {
        const auto part = program::uneven_block(op.bytes, ranks, distance);
        const Rank source = (rank + ranks - distance) % ranks;
        if (const auto wrong = copied(source, part.offset(), part.size(), part.offset())) return wrong;
      }
      return std::nullopt;
    case barrier:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace crosscut::measure
