// Reads tables of a network file. Every mistake is kept, so that one run names them all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "networks/network.hpp"
#include "networks/toml_tree.hpp"

namespace crosscut::networks {

class Mistakes {
 public:
  explicit Mistakes(std::string path) : path_(std::move(path)) {}
  void add(int line, std::string what);
  bool none() const { return found_.empty(); }
  std::size_t count() const { return found_.size() + not_kept_; }
  // True if there are so many mistakes that further ones are only counted; the rest of a list need not be
  // read.
  bool full() const { return not_kept_ > 0; }
  // Throws UsageError with a line for each mistake, in the order of the file.
  void report() const;
  // Checks that all prices of a file are in one currency, so that sums need no exchange rate.
  void check_currency(int line, const std::string& currency);

 private:
  struct Mistake {
    int line;
    std::string what;
  };
  std::string path_;
  std::vector<Mistake> found_;
  std::size_t not_kept_ = 0;
  std::string currency_;
  int currency_line_ = 0;
};

// Reads a table's keys. Each is requested once; finish() reports keys never requested as unknown.
class TableReader {
 public:
  // `where`: "[protocol]", "[[links]]"
  TableReader(const TomlNode& table, std::string where, Mistakes& mistakes);

  int line() const { return table_->line; }
  const std::string& where() const { return where_; }
  bool has(std::string_view key) const { return table_->find(key) != nullptr; }
  // True if a key that nothing has requested so far looks like a misspelt `key`.
  bool has_unknown_like(std::string_view key) const;
  int line(std::string_view key) const;
  void mistake(std::string_view key, const std::string& what);

  // Each leaves `value` unchanged if the key is absent or wrong.
  void read(std::string_view key, std::string& value);
  void read(std::string_view key, bool& value);
  void read(std::string_view key, int& value, std::int64_t minimum, std::int64_t maximum);
  void read_fraction(std::string_view key, double& value);  // above 0, at most 1
  void read_rate(std::string_view key, double& bits_per_second);
  void read_seconds(std::string_view key, double& seconds);
  void read_price(std::string_view key, Price& price);
  // Reads one of these words: sets `place` to its index, or `value` to the enumerator of that number.
  void read_choice(std::string_view key, std::span<const std::string_view> words, std::size_t& place);
  template <typename Enumeration>
  void read_choice(std::string_view key, std::span<const std::string_view> words, Enumeration& value) {
    auto place = static_cast<std::size_t>(value);
    read_choice(key, words, place);
    value = static_cast<Enumeration>(place);
  }
  // Reads a text or a list of texts.
  std::vector<std::string> read_texts(std::string_view key);
  // Declares a key that is read elsewhere.
  const TomlNode* node(std::string_view key);

  void finish();

 private:
  const TomlNode* ask(std::string_view key, TomlNode::Kind wanted, std::string_view example);
  // Passes the text to `parse`; a UsageError that it throws becomes a mistake of the key.
  template <typename Parse>
  void read_parsed(std::string_view key, std::string_view example, const Parse& parse);

  const TomlNode* table_;
  std::string where_;
  Mistakes* mistakes_;
  std::vector<std::string_view> known_;
};

}  // namespace crosscut::networks
