#include "npb/cg/processor_grid.hpp"

#include <algorithm>
#include <bit>
#include <ranges>

namespace crosscut::npb::cg {

namespace {

constexpr int exchange_tag = 1;

// Part `index` of `parts`, as even as can be, the larger ones first.
Range part_of(std::int32_t order, std::int32_t parts, std::int32_t index) {
  const std::int32_t each = order / parts;
  const std::int32_t larger = order % parts;
  const std::int32_t first = index * each + std::min(index, larger);
  return {first, first + each + (index < larger ? 1 : 0)};
}

}  // namespace

ProcessorGrid::ProcessorGrid(Communicator& world, std::int32_t order) : world_(world) {
  const int size_log2 = std::countr_zero(static_cast<unsigned>(world.size()));
  grid_columns_ = 1 << ((size_log2 + 1) / 2);
  grid_rows_ = world.size() / grid_columns_;
  const int rank = world.rank();
  const int column = rank % grid_columns_;
  rows_ = part_of(order, grid_rows_, rank / grid_columns_);
  if (grid_columns_ == grid_rows_) {
    columns_ = part_of(order, grid_columns_, column);
    kept_ = {0, rows_.size()};
    transposed_rank_ = (rank % grid_rows_) * grid_rows_ + rank / grid_rows_;
  } else {
    // Two columns of the grid share what is one row of it: halves, the first the larger.
    const Range both = part_of(order, grid_rows_, column / 2);
    const std::int32_t middle = both.first + static_cast<std::int32_t>((both.size() + 1) / 2);
    columns_ = rank % 2 == 0 ? Range{both.first, middle} : Range{middle, both.end};
    const std::size_t half = (rows_.size() + 1) / 2;
    kept_ = rank % 2 == 0 ? Slice{0, half} : Slice{half, rows_.size() - half};
    transposed_rank_ = 2 * ((rank / 2 % grid_rows_) * grid_rows_ + rank / 2 / grid_rows_) + rank % 2;
  }
  find_partners();
}

void ProcessorGrid::find_partners() {
  for (int step = grid_columns_ / 2; step > 0; step /= 2)
    partners_.push_back({world_.rank() ^ step, kept_, kept_.size});
  // Neighbours that keep different halves give each other the half that they do not keep; from then on, and
  // where all keep everything, whole slices are summed.
  if (grid_columns_ != grid_rows_)
    partners_.back().sent =
        kept_.begin == 0 ? Slice{kept_.size, rows_.size() - kept_.size} : Slice{0, kept_.begin};
}

void ProcessorGrid::exchange(int partner, std::span<const double> sent, std::span<double> taken) {
  MPI_Request request = world_.receive_later(taken, partner, exchange_tag);
  world_.send(sent, partner, exchange_tag);
  world_.wait(request);
}

void ProcessorGrid::sum_and_transpose(std::span<double> partial, std::span<double> result) {
  for (const Partner& partner : std::views::reverse(partners_)) {
    const std::span<double> taken = result.first(partner.taken);
    exchange(partner.rank, partial.subspan(partner.sent.begin, partner.sent.size), taken);
    for (std::size_t i = 0; i < taken.size(); ++i) partial[kept_.begin + i] += taken[i];
  }
  const std::span<double> kept = partial.subspan(kept_.begin, kept_.size);
  if (partners_.empty())
    std::ranges::copy(kept, result.begin());
  else
    exchange(transposed_rank_, kept, result.first(columns_.size()));
}

}  // namespace crosscut::npb::cg
