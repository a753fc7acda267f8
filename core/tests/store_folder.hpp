// A folder for runs, and small reads and writes of their files.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "store/store.hpp"
#include "tests/check.hpp"

namespace crosscut::tests {

namespace fs = std::filesystem;

class StoreFolder {
 public:
  StoreFolder() {
    std::string pattern = (fs::temp_directory_path() / "crosscut-store-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~StoreFolder() { fs::remove_all(path_); }
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;
  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

inline const store::Shape small{{1000, 2000}, 5, 7, 4, 2};

inline std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void overwrite(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline json::Value attributes_of(const fs::path& run) {
  return json::parse(text_of(run / "zarr.json")).at("attributes");
}

inline bool all(const std::vector<bool>& values) { return std::ranges::find(values, false) == values.end(); }
inline bool none(const std::vector<bool>& values) { return std::ranges::find(values, true) == values.end(); }

inline void replace_in(const fs::path& path, const std::string& from, const std::string& to) {
  std::string text = text_of(path);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  overwrite(path, text.replace(at, from.size(), to));
}

}  // namespace crosscut::tests
