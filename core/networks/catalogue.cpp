// Finds network files, by path or by name in the catalogue.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.hpp"
#include "base/words.hpp"
#include "networks/network.hpp"

namespace crosscut::networks {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest_bytes = std::uintmax_t{16} << 20;

// Returns the folder named by CROSSCUT_NETWORKS; without it, the folders beside the executable, as installed
// and in the source tree that it was built in.
std::vector<fs::path> catalogue_folders() {
  if (const char* named = std::getenv("CROSSCUT_NETWORKS"); named != nullptr && *named != '\0')
    return {named};
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path folder = executable.parent_path();
  std::vector<fs::path> folders{folder.parent_path() / "share" / "crosscut" / "networks"};
  constexpr int farthest = 5;  // build/preset/core/tests/test_network
  fs::path above = folder;
  for (int i = 0; i < farthest && above.has_relative_path(); ++i) {
    above = above.parent_path();
    if (fs::exists(above / "core" / "networks" / "network.hpp", error)) folders.push_back(above / "networks");
  }
  return folders;
}

bool is_name(std::string_view text) {
  return !text.empty() && !text.ends_with(".toml") && text.find('/') == std::string_view::npos;
}

// Returns the names, in order, of the networks in a folder.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

fs::path find_in_catalogue(const std::string& name) {
  std::string looked;
  std::vector<std::string> there;
  for (const auto& folder : catalogue_folders()) {
    std::error_code error;
    const auto file = folder / (name + ".toml");
    if (fs::is_regular_file(file, error)) return file;
    looked += (looked.empty() ? "" : ", ") + folder.string();
    std::ranges::move(names_in(folder), std::back_inserter(there));
  }
  std::error_code error;
  const auto nowhere = "there is no network " + shown(name) + " in " +
                       (looked.empty() ? "any catalogue" : looked) + ", and no file ./" + name;
  // The file exists here, but its name was typed without the suffix.
  if (const auto here = "./" + name + ".toml"; fs::is_regular_file(here, error))
    throw UsageError(nowhere + "; did you mean the file " + here + "?");
  std::ranges::sort(there);
  const std::vector<std::string_view> names(there.begin(), there.end());
  constexpr auto all = "'crosscut network list' names all networks";
  throw UsageError(
      nowhere + ".toml" +
      (names.empty() ? "; set CROSSCUT_NETWORKS to the catalogue's folder" : suggestion(name, names, all)));
}

// Suggests a network in the same folder with a similar name. The suffix, which all share, does not count.
std::string beside(const fs::path& file) {
  const auto there = names_in(file.has_parent_path() ? file.parent_path() : ".");
  for (const std::string& name : there)
    if (suggestion(file.stem().string(), std::array<std::string_view, 1>{name}).starts_with("; did you mean"))
      return "; did you mean " + (file.parent_path() / (name + ".toml")).string() + "?";
  return "";
}

}  // namespace

std::unique_ptr<Network> read_network(const std::string& path, std::int64_t vertices_max,
                                      std::optional<Spread> spread) {
  const fs::path file = is_name(path) ? find_in_catalogue(path) : fs::path(path);
  std::error_code error;
  if (fs::is_directory(file, error))
    throw UsageError(shown(file.string()) + " is a directory; a network is one file, in TOML");
  // Reading a device or a pipe could block or never end.
  if (!fs::is_regular_file(file, error))
    throw UsageError(shown(file.string()) + ": there is no such file" + beside(file));
  if (fs::file_size(file, error) > largest_bytes || error)
    throw UsageError(shown(file.string()) + ": larger than 16 MiB");
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) throw UsageError(shown(file.string()) + ": cannot be read");
  return parse_network(text, file.string(), vertices_max, spread);
}

}  // namespace crosscut::networks
