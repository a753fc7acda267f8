// The only implementation of Store, separate from store.hpp so that several source files can implement it.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "store/layout.hpp"
#include "store/shard.hpp"
#include "store/store.hpp"
#include "store/summary.hpp"

namespace crosscut::store {

// Returns the path of the file with a size's samples. An array that is not sharded has one file, at index 0.
std::filesystem::path chunk_path(const std::filesystem::path& directory, const ArrayLayout& layout,
                                 std::int32_t size_index = 0);
// Passes the contents of the coordinate `name` to `take`, piece by piece and in order; does nothing if `name`
// is not a coordinate.
void for_each_piece(const Store::Options& options, std::string_view name,
                    const std::function<void(std::span<const std::byte>)>& take);
std::string utc_now();
void write_group(const std::filesystem::path& directory, const json::Value& metadata);

// The open shards, at most 16: a run with many sizes must not use up the descriptors that sockets need.
class Shards {
 public:
  Shards(std::filesystem::path directory, const std::vector<ArrayLayout>& layouts)
      : directory_(std::move(directory)), layouts_(layouts) {}
  // Returns a shard; creates its file if there is none.
  Shard& get(std::string_view array, std::int32_t size_index) {
    if (Shard* shard = find(array, size_index)) return *shard;
    const ArrayLayout& made = layout(array);
    Shard::create(chunk_path(directory_, made, size_index), ShardPlan(made));
    return *find(array, size_index);
  }
  // Returns a shard, or nullptr if it has no file.
  Shard* find(std::string_view array, std::int32_t size_index) {
    if (const auto found = open_.find({array, size_index}); found != open_.end()) {
      found->second.second = ++uses_;
      return &found->second.first;
    }
    const ArrayLayout& wanted = layout(array);
    const auto path = chunk_path(directory_, wanted, size_index);
    if (!std::filesystem::exists(path)) return nullptr;
    if (open_.size() >= most_open_shards)
      open_.erase(std::ranges::min_element(open_, {}, [](const auto& entry) { return entry.second.second; }));
    const Key key{wanted.name, size_index};
    return &open_.emplace(key, std::pair(Shard(path, ShardPlan(wanted)), ++uses_)).first->second.first;
  }
  const ArrayLayout& layout(std::string_view array) const {
    return *std::ranges::find(layouts_, array, &ArrayLayout::name);
  }

 private:
  static constexpr std::size_t most_open_shards = 16;
  using Key = std::pair<std::string_view, std::int32_t>;

  std::filesystem::path directory_;
  const std::vector<ArrayLayout>& layouts_;
  std::map<Key, std::pair<Shard, std::uint64_t>> open_;  // with the value of uses_ at the last use
  std::uint64_t uses_ = 0;
};

class ZarrStore : public Store {
 public:
  // The directory of `lock` already holds the run's metadata; the lock keeps a second writer out.
  ZarrStore(File lock, Options options, json::Object attributes);

  void commit(const BlockData& data) override;
  std::vector<bool> done(const Block& block) const override;
  std::int64_t iterations(std::int32_t size_index) const override;
  void set_iterations(std::int32_t size_index, std::int64_t iterations) override;
  void set_repetitions_done(std::int32_t size_index, std::span<const std::int64_t> by_phase) override;
  std::vector<double> read_rank_seconds(const Block& block) const override;
  Kept kept() const override { return options_.kept; }
  Block largest_block(std::int32_t size_index, std::int64_t repetition, std::int64_t phase) const override;
  const json::Value& attributes() const override { return attributes_; }
  void set_attributes(const json::Object& changed) override;
  void finish(std::string_view state, const json::Object& changed) override;

  // For a resume: throws RunError unless the other arrays have every chunk in which a sample is measured.
  void check_shards();
  // For a resume of a complete run: with nothing left to measure, the attributes stay as they are.
  void keep_attributes() { nothing_missing_ = true; }
  // Returns the blocks still to be measured, at most 1,000, as a list of {size, phases: [first, end),
  // repetitions: [first, end)}, by index.
  json::Value missing_blocks() const;

 private:
  struct Piece {
    std::string_view array;
    Block block;
    std::span<const std::byte> cells;
  };

  void check(const BlockData& data) const;
  void check_block(const Block& block) const;
  void add_optional(const BlockData& data, std::vector<Piece>& pieces) const;
  void commit_phases(const BlockData& data);
  void write(std::span<const Piece> pieces);
  void write_samples(std::vector<Piece> pieces, const Block& block);
  std::vector<std::uint32_t> checksums_of(std::span<const Piece> pieces, const Block& block) const;
  void verify(const Piece& piece) const;
  void commit_summed(const BlockData& data);
  void flush_summaries();
  std::vector<Status> read_status(const Block& block) const;
  std::vector<bool> summaries_done(const Block& block) const;
  bool summary_closed(std::int32_t size_index, std::int64_t phase) const;
  void reopen(std::int32_t size_index, std::int64_t phase_first, std::int64_t phase_end);
  void write_numbers(std::string_view array, std::int64_t first, std::span<const std::int64_t> values);
  std::vector<std::int64_t> read_numbers(std::string_view array) const;
  void check_size(std::int32_t size_index) const;
  void check_chunk(std::int32_t size_index, std::int64_t chunk);
  bool nothing_visible(std::int32_t size_index, std::int64_t repetition_chunk) const;

  File lock_;
  std::filesystem::path directory_;
  Options options_;
  json::Value attributes_;
  std::vector<ArrayLayout> layouts_;
  std::vector<std::string_view> checked_;  // the arrays along the last dimension of `checksum`
  ChunkGrid grid_;
  std::string_view status_array_;
  std::int64_t status_cells_;  // status cells per repetition and phase: the ranks, or 1
  mutable Shards shards_;
  SummaryBuffer summaries_;
  bool nothing_missing_ = false;
  std::vector<std::int64_t> iterations_, repetitions_done_;
  // [size, phase] whether all repetitions of a summary are done, once read: large runs have gigabytes of
  // status.
  mutable std::vector<std::optional<bool>> closed_;
};

}  // namespace crosscut::store
