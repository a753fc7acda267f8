#include <algorithm>
#include <array>
#include <optional>

#include "base/error.hpp"
#include "store/zarr_store.hpp"

namespace crosscut::store {
namespace {

namespace fs = std::filesystem;
using json::Value;

constexpr std::int64_t most_metadata_bytes = std::int64_t{64} << 20;
constexpr std::size_t most_blocks_listed = 1000;

struct Difference {
  std::string text;
  bool may_be_forced = false;
};

// Attributes that must agree. A difference in what is measured cannot be forced, since the arrays would then
// mix two measurements.
struct Setting {
  std::string_view attribute, member;
  bool may_be_forced;
  Value absent = {};  // what runs measured that do not record it; null: unknown
};
const std::array settings = {
    Setting{"pattern", "name", false},
    Setting{"pattern", "parameters", false},
    Setting{"job", "pattern", false},
    Setting{"job", "seed", false},
    Setting{"backend", "name", true},
    Setting{"backend", "parameters", true},
    Setting{"job", "sync", true},
    Setting{"job", "wait", true},
    Setting{"job", "warm_up", true},
    Setting{"job", "iterations", true},
    Setting{"window", "", false, std::int64_t{1}},
    Setting{"rails", "", false, std::int64_t{1}},
    Setting{"cache", "", false, "warm"},
    Setting{"noise", "", false, ""},
    Setting{"environment", "", true, json::Object{}},
    Setting{"job", "interval", true},
    Setting{"job", "minimum_repetitions", true},
    Setting{"job", "verify", true},
    Setting{"place", "", true},
    Setting{"cadence", "", true},
    Setting{"tcp", "", true},
    Setting{"network", "", true},
    Setting{"faults", "", true},
};

// True if two values are equal apart from the order of members, which has no meaning and may be changed.
bool same(const Value& a, const Value& b) {
  if (a.is_object() && b.is_object())
    return a.object().size() == b.object().size() && std::ranges::all_of(a.object(), [&](const auto& member) {
             const Value* other = b.find(member.first);
             return other != nullptr && same(member.second, *other);
           });
  if (a.is_array() && b.is_array()) return std::ranges::equal(a.array(), b.array(), same);
  if (a.is_number() && b.is_number() && a.is_integer() != b.is_integer()) return a.number() == b.number();
  return a == b;
}

void check_is_run(const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(directory / "zarr.json", error))
    throw UsageError(directory.string() +
                     " is not a run (it has no zarr.json), so there is nothing to resume; leave out --resume "
                     "to start one");
}

Value load(const fs::path& directory) {
  const fs::path path = directory / "zarr.json";
  check_is_run(directory);
  try {
    return json::parse(read_file(path, most_metadata_bytes));
  } catch (const UsageError& bad) {
    throw RunError(path.string() + ": " + bad.what() + "; the file is damaged: run `crosscut fsck`");
  }
}

const Value& member(const Value& value, std::string_view name, const fs::path& directory) {
  const Value* found = value.is_object() ? value.find(name) : nullptr;
  if (found != nullptr) return *found;
  throw RunError((directory / "zarr.json").string() + ": no member \"" + std::string(name) +
                 "\"; this is not a run of crosscut, or it is damaged: run `crosscut fsck`");
}

void check_schema(const Value& attributes, const fs::path& directory) {
  const Value& schema = member(attributes, "schema", directory);
  const Value& name = member(schema, "name", directory);
  const Value& version = member(schema, "version", directory);
  if (name != Value(schema_name) || !version.is_integer() || version.integer() < 1)
    throw RunError(directory.string() + " is not a run of crosscut: its schema is " + json::write(schema));
  if (version.integer() > schema_version)
    throw RunError(directory.string() + " was written by a newer crosscut (schema version " +
                   std::to_string(version.integer()) + "; this one knows " + std::to_string(schema_version) +
                   "): resume it with that version");
}

std::string shortened(const Value* value) {
  constexpr std::size_t longest = 120;
  std::string text = value == nullptr ? "nothing" : json::write(*value);
  if (text.size() > longest) text = text.substr(0, longest) + "…";
  return text;
}

std::string differs(std::string_view what, const std::string& found, const std::string& wanted) {
  return std::string(what) + " (the run: " + found + "; now: " + wanted + ")";
}

const Value* setting_of(const Value& attributes, const Setting& setting) {
  const Value* found = attributes.find(setting.attribute);
  if (found == nullptr || setting.member.empty()) return found;
  return found->is_object() ? found->find(setting.member) : nullptr;
}

void compare_settings(const Value& found, const Value& wanted, std::vector<Difference>& differences) {
  for (const Setting& setting : settings) {
    const Value* now = setting_of(wanted, setting);
    const Value* then = setting_of(found, setting);
    if (then == nullptr && !setting.absent.is_null()) then = &setting.absent;
    if (now == nullptr || (then != nullptr && same(*then, *now))) continue;
    std::string name(setting.attribute);
    if (!setting.member.empty()) name.append(".").append(setting.member);
    differences.push_back({differs(name, shortened(then), shortened(now)), setting.may_be_forced});
  }
}

// Versions that differ only in their last number agree: such releases share methods and formats.
void compare_versions(const Value& found, const Value& wanted, std::vector<Difference>& differences) {
  const auto methods = [](const Value* version) {
    if (version == nullptr || !version->is_string()) return std::string();
    return version->string().substr(0, version->string().rfind('.'));
  };
  const Value *then = found.find("crosscut"), *now = wanted.find("crosscut");
  if (now == nullptr || methods(then) == methods(now)) return;
  differences.push_back({differs("version of crosscut", shortened(then), shortened(now)), true});
}

// Returns only the identities of the nodes, since the rest of their descriptions may change between runs.
Value node_ids(const Value* nodes) {
  json::Array ids;
  if (nodes != nullptr && nodes->is_object()) return *nodes;  // many nodes are counted, not listed
  if (nodes == nullptr || !nodes->is_array()) return ids;
  for (const Value& node : nodes->array()) {
    const Value* id = node.is_object() ? node.find("id") : nullptr;
    if (id == nullptr && node.is_object()) id = node.find("name");
    ids.push_back(id == nullptr ? node : *id);
  }
  return ids;
}

void compare_nodes(const Value& found, const Value& wanted, std::vector<Difference>& differences) {
  if (wanted.find("nodes") == nullptr) return;
  const Value then = node_ids(found.find("nodes")), now = node_ids(wanted.find("nodes"));
  if (!same(then, now)) differences.push_back({differs("nodes", shortened(&then), shortened(&now)), true});
}

// Reports each differing dimension once: the user changed the number of repetitions, not the shapes of nine
// arrays.
void compare_shapes(const std::string& array, const Value& then, const Value& metadata,
                    std::vector<Difference>& differences) {
  const json::Array& now = metadata.at("shape").array();
  const json::Array& names = metadata.at("dimension_names").array();
  if (!then.is_array() || then.array().size() != now.size()) {
    differences.push_back({"number of dimensions of " + array});
    return;
  }
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (same(then.array()[i], now[i])) continue;
    const std::string text =
        differs("number of " + names.at(i).string() + "s", shortened(&then.array()[i]), shortened(&now[i]));
    if (std::ranges::find(differences, text, &Difference::text) == differences.end())
      differences.push_back({text});
  }
}

void compare_arrays(const Value& found, std::span<const ArrayLayout> wanted,
                    std::vector<Difference>& differences) {
  for (const ArrayLayout& layout : wanted) {
    const std::string name(layout.name);
    const Value metadata = array_metadata(layout);
    const Value* then = found.find(name);
    if (then == nullptr) {
      differences.push_back({"array " + name + " (absent in the run)"});
    } else if (!same(*then, metadata)) {
      const Value* shape = then->is_object() ? then->find("shape") : nullptr;
      if (shape == nullptr || same(*shape, metadata.at("shape")))
        differences.push_back({"array " + name + " (type or chunks)"});
      else
        compare_shapes(name, *shape, metadata, differences);
    }
  }
  for (const auto& [name, metadata] : found.object())
    if (std::ranges::find(wanted, name, &ArrayLayout::name) == wanted.end())
      differences.push_back({"array " + name + " (only in the run)"});
}

// True if a file holds the values of a coordinate. Compares piece by piece up to the first difference.
bool holds(const File& file, const Store::Options& options, std::string_view name) {
  bool same_so_far = true;
  std::int64_t at = 0;
  std::vector<std::byte> found;
  for_each_piece(options, name, [&](std::span<const std::byte> wanted) {
    if (!same_so_far) return;
    found.resize(wanted.size());
    file.read_at(found, at);
    at += std::ssize(wanted);
    same_so_far = std::ranges::equal(found, wanted);
  });
  return same_so_far;
}

void compare_coordinates(const fs::path& directory, const Store::Options& options,
                         std::span<const ArrayLayout> layouts, std::vector<Difference>& differences) {
  for (const ArrayLayout& layout : layouts) {
    if (layout.sharded || layout.name == "iterations" || layout.name == "repetitions_done") continue;
    const File file(chunk_path(directory, layout), File::Mode::read);
    if (file.size() != layout.file_bytes())
      throw RunError(file.path().string() + " has the wrong length; run `crosscut fsck`");
    if (!holds(file, options, layout.name))
      differences.push_back({"coordinate " + std::string(layout.name), layout.name == "node"});
  }
}

[[noreturn]] void refuse(const fs::path& directory, const std::vector<Difference>& differences) {
  std::string list;
  for (const Difference& difference : differences)
    list.append(list.empty() ? "" : ", ").append(difference.text);
  const bool force_helps = std::ranges::all_of(differences, &Difference::may_be_forced);
  throw UsageError(directory.string() + " was measured with other settings: " + list +
                   (force_helps ? "; to continue anyway, use --force: the run records the differences"
                                : "; measure into a new directory, or resume with the run's own settings"));
}

std::string state_of(const Value& attributes) {
  const Value* state = attributes.find("state");
  return state != nullptr && state->is_string() ? state->string() : "";
}

json::Value resumed(const Value& attributes, const std::vector<Difference>& differences, const Value& wanted,
                    Value blocks) {
  json::Array texts;
  for (const Difference& difference : differences) texts.emplace_back(difference.text);
  Value entry =
      json::Object{{"start", utc_now()}, {"forced", !differences.empty()}, {"differences", std::move(texts)}};
  entry.set("blocks", std::move(blocks));
  const Value* stopped = attributes.find("end");
  entry.set("stopped", stopped == nullptr || state_of(attributes) == "running" ? Value() : *stopped);
  if (const Value* version = wanted.find("crosscut")) entry.set("crosscut", *version);
  if (const Value* nodes = wanted.find("nodes"); nodes != nullptr && !differences.empty())
    entry.set("nodes", *nodes);
  const Value* before = attributes.find("resumed");
  Value list = before != nullptr && before->is_array() ? *before : Value(json::Array{});
  list.array().push_back(std::move(entry));
  return list;
}

json::Array ranges_of(const std::vector<bool>& done) {
  json::Array ranges;
  for (std::size_t first = 0; first < done.size();) {
    const std::size_t end = static_cast<std::size_t>(
        std::find(done.begin() + static_cast<std::ptrdiff_t>(first), done.end(), !done[first]) -
        done.begin());
    if (!done[first])
      ranges.emplace_back(json::Array{static_cast<std::int64_t>(first), static_cast<std::int64_t>(end)});
    first = end;
  }
  return ranges;
}

}  // namespace

void ZarrStore::check_shards() {
  for (std::int32_t size = 0; std::cmp_less(size, options_.shape.sizes.size()); ++size) {
    if (shards_.find(status_array_, size) == nullptr) continue;
    for (std::int64_t chunk = 0; chunk < grid_.chunks(); ++chunk)
      if (shards_.find(status_array_, size)->visible(chunk)) check_chunk(size, chunk);
  }
}

void ZarrStore::check_chunk(std::int32_t size_index, std::int64_t chunk) {
  const std::int64_t r = chunk / grid_.phase_chunks(), p = chunk % grid_.phase_chunks();
  const Block whole{size_index, p * grid_.chunk_phases, std::min(grid_.phases, (p + 1) * grid_.chunk_phases),
                    r * grid_.chunk_repetitions,
                    std::min(grid_.repetitions, (r + 1) * grid_.chunk_repetitions)};
  std::optional<bool> any_measured;
  for (const ArrayLayout& layout : layouts_) {
    if (!layout.sharded || layout.name == status_array_) continue;
    const Shard* shard = shards_.find(layout.name, size_index);
    if (shard != nullptr && shard->visible(chunk)) continue;
    if (!any_measured) any_measured = std::ranges::count(read_status(whole), Status::measured) > 0;
    if (*any_measured)
      throw RunError(chunk_path(directory_, layout, size_index).string() +
                     " lacks samples that were measured; run `crosscut fsck` to see what is lost and "
                     "`crosscut fsck --repair` to mark it for measuring again");
  }
}

bool ZarrStore::nothing_visible(std::int32_t size_index, std::int64_t repetition_chunk) const {
  const Shard* status = shards_.find(status_array_, size_index);
  if (status == nullptr) return true;
  for (std::int64_t p = 0; p < grid_.phase_chunks(); ++p)
    if (status->visible(repetition_chunk * grid_.phase_chunks() + p)) return false;
  return true;
}

Value ZarrStore::missing_blocks() const {
  json::Array blocks;
  for (std::int32_t size = 0; std::cmp_less(size, options_.shape.sizes.size()); ++size) {
    json::Array open;  // phases missing in each repetition from `since` on
    std::int64_t since = 0;
    const auto close = [&](std::int64_t end) {
      for (const Value& phases : open)
        if (blocks.size() < most_blocks_listed)
          blocks.emplace_back(
              json::Object{{"size", size}, {"phases", phases}, {"repetitions", json::Array{since, end}}});
      since = end;
    };
    for (std::int64_t r = 0; r < grid_.repetitions;) {
      const bool untouched =
          r % grid_.chunk_repetitions == 0 && nothing_visible(size, r / grid_.chunk_repetitions);
      // Not `Array{Array{…}}`: compilers disagree whether that is a list of one list or a copy (CWG 2137).
      const json::Value all_phases(json::Array{0, grid_.phases});
      json::Array lacking =
          untouched ? json::Array(1, all_phases) : ranges_of(done({size, 0, grid_.phases, r, r + 1}));
      if (lacking != open) {
        close(r);
        open = std::move(lacking);
      }
      r = std::min(grid_.repetitions, r + (untouched ? grid_.chunk_repetitions : 1));
    }
    close(grid_.repetitions);
  }
  return blocks;
}

std::unique_ptr<Store> Store::resume(const fs::path& directory, Options options, bool force) {
  check_is_run(directory);
  File lock(directory, File::Mode::directory);
  if (!lock.lock()) throw UsageError(directory.string() + " is being written by another process");
  // Read only under the lock: before, another process may have been writing.
  const Value group = load(directory);
  const Value& attributes = member(group, "attributes", directory);
  check_schema(attributes, directory);
  const Value& arrays = member(member(group, "consolidated_metadata", directory), "metadata", directory);
  if (!arrays.is_object()) member(Value(), "metadata", directory);

  options.checksums = arrays.find("checksum") != nullptr;
  options.skew = arrays.find("skew_seconds") != nullptr;
  const std::vector<ArrayLayout> layouts = array_layouts(options);
  const Value wanted = options.attributes;
  std::vector<Difference> differences;
  compare_versions(attributes, wanted, differences);
  compare_settings(attributes, wanted, differences);
  compare_nodes(attributes, wanted, differences);
  compare_arrays(arrays, layouts, differences);
  const bool same_arrays = std::ranges::all_of(differences, &Difference::may_be_forced);
  if (same_arrays) compare_coordinates(directory, options, layouts, differences);
  if (!std::ranges::all_of(differences, &Difference::may_be_forced) || (!differences.empty() && !force))
    refuse(directory, differences);

  auto store = std::make_unique<ZarrStore>(std::move(lock), std::move(options), attributes.object());
  store->check_shards();
  Value missing = store->missing_blocks();
  if (missing.array().empty() && state_of(attributes) == "complete")
    store->keep_attributes();
  else
    store->set_attributes(
        {{"state", "running"}, {"resumed", resumed(attributes, differences, wanted, std::move(missing))}});
  return store;
}

}  // namespace crosscut::store
