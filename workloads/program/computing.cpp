#include "program/computing.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace crosscut::program {

namespace {

constexpr std::size_t piece_elements = 512;  // 4 KiB, and as much for the halves

void compute_piece(std::span<double> values, std::int64_t rounds) {
  std::array<double, piece_elements> halves;
  std::ranges::transform(values, halves.begin(), [](double value) { return value / 2; });
  for (std::int64_t round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = values[i] * 0.5 + halves[i];
}

}  // namespace

void compute(std::span<double> values, std::int64_t rounds) {
  for (std::size_t begin = 0; begin < values.size(); begin += piece_elements)
    compute_piece(values.subspan(begin, std::min(piece_elements, values.size() - begin)), rounds);
}

}  // namespace crosscut::program
