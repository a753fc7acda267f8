#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "base/error.hpp"
#include "store/zarr_store.hpp"

namespace crosscut::store {
namespace {

namespace fs = std::filesystem;

void write_json(const fs::path& path, const json::Value& value) {
  const std::string text = json::write(value, 2) + "\n";
  replace_file(path, std::as_bytes(std::span(text)));
}

bool is_one_of(std::span<const std::string_view> names, const fs::path& name) {
  return std::ranges::find(names, name.string()) != names.end();
}

bool is_metadata(const fs::path& name) { return name == "zarr.json" || name == "zarr.json.unfinished"; }

// True for the parts of a chunk's path: "c", numbers, and a number followed by ".unfinished".
bool is_chunk_part(const fs::path& part) {
  const std::string name = part.string();
  const auto digits = std::ranges::find_if_not(name, [](char c) { return c >= '0' && c <= '9'; });
  const std::string_view rest(digits, name.end());
  return name == "c" || rest.empty() || rest == ".unfinished";
}

// True for a path within a run that `create` makes before the group's zarr.json.
bool is_made_first(const fs::path& within) {
  auto part = within.begin();
  // Before, `create` writes only the metadata of arrays with one file per size: their chunks are
  // measurements.
  const bool holds_chunks = is_one_of(array_names(false), *part);
  if (!holds_chunks && !is_one_of(array_names(true), *part)) return within == "zarr.json.unfinished";
  return std::all_of(std::next(part), within.end(), [&](const fs::path& name) {
    return is_metadata(name) || (holds_chunks && is_chunk_part(name));
  });
}

// True if the directory holds nothing but files of a process that was killed before the run existed, hence no
// measurement.
bool is_half_made(const fs::path& directory) {
  std::error_code error;
  if (fs::exists(directory / "zarr.json", error)) return false;
  for (fs::recursive_directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_symlink(error) || !is_made_first(entry->path().lexically_relative(directory))) return false;
  }
  return !error;
}

void make_empty_directory(const fs::path& directory) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (error && status.type() == fs::file_type::none) throw_file_error("use", directory, error.value());
  if (fs::exists(status) && !fs::is_directory(status))
    throw UsageError(directory.string() +
                     " is a file, but a run is a directory; give a new directory with --out");
  make_directories(directory);
  fs::directory_iterator entries(directory, error);
  if (error) throw_file_error("read", directory, error.value());
  if (entries == fs::directory_iterator() || is_half_made(directory)) return;
  if (fs::exists(directory / "zarr.json", error))
    throw UsageError(directory.string() +
                     " already holds a run; continue it with --resume, or name another directory with --out");
  const bool lost = std::ranges::any_of(
      array_names(true), [&](std::string_view name) { return fs::exists(directory / name / "c", error); });
  if (lost)
    throw UsageError(directory.string() +
                     " holds measurements of a run that has lost its zarr.json. They are left " +
                     "untouched: 'crosscut fsck " + directory.string() + "' shows what can be restored. " +
                     "Name another directory with --out");
  throw UsageError(directory.string() + " is not empty: name a new directory with --out");
}

void write_whole_array(File& file, const Store::Options& options, const ArrayLayout& layout) {
  if (layout.name == "iterations" || layout.name == "repetitions_done")
    return file.write_at(std::vector<std::byte>(static_cast<std::size_t>(layout.file_bytes())), 0);
  std::int64_t written = 0;
  for_each_piece(options, layout.name, [&](std::span<const std::byte> piece) {
    file.write_at(piece, written);
    written += std::ssize(piece);
  });
  if (written != layout.file_bytes())
    throw RunError("internal error: coordinate " + std::string(layout.name) + " has " +
                   std::to_string(written) + " bytes, expected " + std::to_string(layout.file_bytes()) +
                   "; please report it");
}

// Writes the metadata of each array, and the contents of the arrays with a single chunk.
void write_whole_arrays(const fs::path& directory, const Store::Options& options,
                        std::span<const ArrayLayout> layouts) {
  for (const ArrayLayout& layout : layouts) {
    const fs::path folder = directory / layout.name;
    make_directories(folder);
    write_json(folder / "zarr.json", array_metadata(layout));
    if (layout.sharded) continue;
    const fs::path chunk = chunk_path(directory, layout);
    make_directories(chunk.parent_path());
    replace_file(chunk, [&](File& file) { write_whole_array(file, options, layout); });
  }
}

json::Object first_attributes(const Store::Options& options, std::span<const ArrayLayout> layouts) {
  json::Value attributes;
  attributes.set("schema", nullptr);  // first in order, for human readers; set below
  for (const auto& [name, value] : options.attributes) attributes.set(name, value);
  // These override entries of the user's metadata with the same name.
  attributes.set("schema", json::Object{{"name", schema_name}, {"version", schema_version}});
  attributes.set("state", "running");
  attributes.set("start", utc_now());
  const Coordinates& coordinates = options.coordinates;
  attributes.set("peers", coordinates.samples ? "stored" : "implied");
  // xarray makes coordinates of the arrays named here (CF conventions 1.11, section 5).
  std::string named;
  for (const ArrayLayout& layout : layouts)
    if (layout.name == "node" || layout.name == "peer" || layout.name == "bytes")
      named.append(named.empty() ? "" : " ").append(layout.name);
  if (!named.empty()) attributes.set("coordinates", named);
  attributes.set("summaries", options.kept != Kept::samples);
  // With phase summaries, no array has the dimension `slot`.
  if (options.kept == Kept::phase_summaries) attributes.set("slots", options.shape.slots);
  if (std::ranges::any_of(coordinates.phase_label, [](const std::string& label) { return !label.empty(); }))
    attributes.set("phase_labels",
                   json::Array(coordinates.phase_label.begin(), coordinates.phase_label.end()));
  return attributes.object();
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text;
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

fs::path chunk_path(const fs::path& directory, const ArrayLayout& layout, std::int32_t size_index) {
  fs::path path = directory / layout.name / "c" / std::to_string(size_index);
  for (std::size_t i = 1; i < layout.dimensions.size(); ++i) path /= "0";
  return path;
}

void for_each_piece(const Store::Options& options, std::string_view name,
                    const std::function<void(std::span<const std::byte>)>& take) {
  const Coordinates& c = options.coordinates;
  if (name == "size") take(std::as_bytes(std::span(options.shape.sizes)));
  if (name == "phase") take(std::as_bytes(std::span(c.phase)));
  if (name == "node") take(std::as_bytes(std::span(c.node)));
  if (name == "credited_bytes") take(std::as_bytes(std::span(c.credited_bytes)));
  if (name != "peer" && name != "bytes") return;
  for (std::size_t phase = 0; phase < c.phase.size(); ++phase) {
    const PhaseSamples samples = c.samples(phase);
    take(name == "peer" ? std::as_bytes(std::span(samples.peer)) : std::as_bytes(std::span(samples.bytes)));
  }
}

void write_group(const fs::path& directory, const json::Value& metadata) {
  write_json(directory / "zarr.json", metadata);
}

std::unique_ptr<Store> Store::create(const fs::path& directory, Options options) {
  const std::vector<ArrayLayout> layouts = array_layouts(options);
  make_empty_directory(directory);
  File lock(directory, File::Mode::directory);
  if (!lock.lock())
    throw UsageError(
        directory.string() +
        ": another process is writing a run there; wait for it, or name another directory with --out");
  make_empty_directory(directory);  // again, as another process may have made a run before the lock was taken
  if (is_half_made(directory)) {
    for (const bool sharded : {false, true})
      for (const auto name : array_names(sharded)) fs::remove_all(directory / name);
  }
  write_whole_arrays(directory, options, layouts);
  json::Object attributes = first_attributes(options, layouts);
  write_group(directory, group_metadata(layouts, attributes));  // last: this makes the run exist
  return std::make_unique<ZarrStore>(std::move(lock), std::move(options), std::move(attributes));
}

}  // namespace crosscut::store
