// A TOML file as a plain tree in which every value knows its line. Only toml_tree.cpp includes toml++.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crosscut::networks {

struct TomlMember;

struct TomlNode {
  enum class Kind : std::uint8_t { boolean, integer, real, text, array, table, date };

  Kind kind = Kind::table;
  int line = 1;  // from 1
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0;  // as written: nan and inf are TOML
  std::string text;
  std::vector<TomlNode> items;      // elements of an array
  std::vector<TomlMember> members;  // members of a table, in the order of the file

  const TomlNode* find(std::string_view key) const;  // member of a table; nullptr: absent
  bool is_table() const { return kind == Kind::table; }
  bool is_array() const { return kind == Kind::array; }
};

struct TomlMember {
  std::string key;
  TomlNode value;
};

// "a table", "a whole number"
std::string_view kind_word(TomlNode::Kind kind);

// Throws UsageError "path:line: ...". Size, depth and the number of values are bounded.
TomlNode read_toml(std::string_view text, const std::string& path);

}  // namespace crosscut::networks
