#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include "error.hpp"
#include "store_metadata.hpp"
#include "zarr_store.hpp"

namespace crosscut {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> text_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

void make_empty_directory(const fs::path& directory) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (error && status.type() == fs::file_type::none) throw_file_error("use", directory, error.value());
  if (fs::exists(status) && !fs::is_directory(status))
    throw UsageError(directory.string() + " is a file: a run is a directory; name another one with --out");
  make_directories(directory);
  fs::directory_iterator entries(directory, error);
  if (error) throw_file_error("read", directory, error.value());
  if (entries == fs::directory_iterator()) return;
  const bool is_run = fs::exists(directory / "zarr.json", error);
  throw UsageError(directory.string() + " is not empty: " +
                   (is_run ? "it holds a run; go on with it by --resume, or name another directory with --out"
                           : "name a new directory with --out"));
}

// Before anything is measured: the values that each array of one chunk begins with.
void write_whole_arrays(const fs::path& directory, const Store::Options& options,
                        std::span<const ArrayLayout> layouts) {
  for (const ArrayLayout& layout : layouts) {
    const fs::path folder = directory / layout.name;
    make_directories(folder);
    const std::string metadata = json::write(array_metadata(layout), 2) + "\n";
    replace_file(folder / "zarr.json", text_bytes(metadata));
    if (layout.sharded) continue;
    const bool counted = layout.name == "iterations" || layout.name == "repetitions_done";
    const std::vector<std::byte> zeros(counted ? static_cast<std::size_t>(layout.file_bytes()) : 0);
    const std::span<const std::byte> bytes = counted ? zeros : coordinate_bytes(options, layout.name);
    if (std::cmp_not_equal(bytes.size(), layout.file_bytes()))
      throw RunError("internal error: coordinate " + std::string(layout.name) + " has " +
                     std::to_string(bytes.size()) + " bytes, expected " +
                     std::to_string(layout.file_bytes()) + "; please report it");
    const fs::path chunk = chunk_path(directory, layout);
    make_directories(chunk.parent_path());
    replace_file(chunk, bytes);
  }
}

json::Object first_attributes(const Store::Options& options) {
  json::Value attributes;
  attributes.set("schema", nullptr);  // first, for the reader; set below
  for (const auto& [name, value] : options.attributes) attributes.set(name, value);
  // After whatever the user's metadata calls so: a run is what the store says it is.
  attributes.set("schema", json::Object{{"name", schema_name}, {"version", schema_version}});
  attributes.set("state", "running");
  attributes.set("start", utc_now());
  const Coordinates& coordinates = options.coordinates;
  attributes.set("peers", coordinates.peer.empty() ? "implied" : "stored");
  // xarray makes coordinates of the arrays named here (CF conventions 1.11, section 5).
  std::string named;
  for (const std::string_view name : {"node", "peer", "bytes"})
    if (!coordinate_bytes(options, name).empty()) named.append(named.empty() ? "" : " ").append(name);
  if (!named.empty()) attributes.set("coordinates", named);
  attributes.set("summaries", options.summaries);
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

std::span<const std::byte> coordinate_bytes(const Store::Options& options, std::string_view name) {
  const Coordinates& c = options.coordinates;
  if (name == "size") return std::as_bytes(std::span(options.shape.sizes));
  if (name == "phase") return std::as_bytes(std::span(c.phase));
  if (name == "peer") return std::as_bytes(std::span(c.peer));
  if (name == "bytes") return std::as_bytes(std::span(c.bytes));
  if (name == "node") return std::as_bytes(std::span(c.node));
  if (name == "credited_bytes") return std::as_bytes(std::span(c.credited_bytes));
  return {};
}

void write_group(const fs::path& directory, const json::Value& metadata) {
  const std::string text = json::write(metadata, 2) + "\n";
  replace_file(directory / "zarr.json", text_bytes(text));
}

std::unique_ptr<Store> Store::create(const fs::path& directory, Options options) {
  const std::vector<ArrayLayout> layouts = array_layouts(options);
  make_empty_directory(directory);
  File lock(directory, File::Mode::directory);
  if (!lock.lock()) throw UsageError(directory.string() + ": another process is making a run there");
  write_whole_arrays(directory, options, layouts);
  json::Object attributes = first_attributes(options);
  write_group(directory, group_metadata(layouts, attributes));  // last: with it, the run exists
  return std::make_unique<ZarrStore>(std::move(lock), std::move(options), std::move(attributes));
}

}  // namespace crosscut
