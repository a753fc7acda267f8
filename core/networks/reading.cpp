#include "networks/reading.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/error.hpp"
#include "base/words.hpp"
#include "program/parameters.hpp"

namespace crosscut::networks {
namespace {

constexpr double fastest = 1e18;  // bits per second; beyond that a unit is wrong
constexpr double longest = 3600;  // seconds
constexpr double most_expensive = 1e15;
constexpr std::size_t alike_shown = 3;  // lines of a report with the same text

}  // namespace

void Mistakes::add(int line, std::string what) {
  constexpr std::size_t most = 100;
  if (found_.size() < most) {
    found_.push_back({line, std::move(what)});
  } else {
    ++not_kept_;
  }
}

void Mistakes::report() const {
  if (found_.empty()) return;
  auto sorted = found_;
  std::ranges::stable_sort(sorted, {}, &Mistake::line);
  std::map<std::string_view, std::size_t> places, told;
  for (const auto& one : sorted) ++places[one.what];
  std::string text;
  for (const auto& [line, what] : sorted) {
    if (told[what] == alike_shown) continue;
    text += (text.empty() ? "" : "\n") + path_ + ":" + std::to_string(line) + ": " + what;
    const auto more = places[what] - std::min(places[what], alike_shown);
    if (++told[what] == alike_shown && more > 0)
      text += " (and in " + std::to_string(more) + (more == 1 ? " more place)" : " more places)");
  }
  if (not_kept_ > 0) text += "\n" + path_ + ": and " + std::to_string(not_kept_) + " more mistakes";
  throw UsageError(text);
}

void Mistakes::check_currency(int line, const std::string& currency) {
  if (currency_.empty()) {
    currency_ = currency;
    currency_line_ = line;
  } else if (currency != currency_) {
    add(line, "a price in " + currency + ", but line " + std::to_string(currency_line_) + " has one in " +
                  currency_ + "; write all prices in one currency");
  }
}

TableReader::TableReader(const TomlNode& table, std::string where, Mistakes& mistakes)
    : table_(&table), where_(std::move(where)), mistakes_(&mistakes) {}

int TableReader::line(std::string_view key) const {
  const auto* value = table_->find(key);
  return value == nullptr ? table_->line : value->line;
}

bool TableReader::has_unknown_like(std::string_view key) const {
  return std::ranges::any_of(table_->members, [&](const TomlMember& member) {
    return std::ranges::find(known_, member.key) == known_.end() &&
           suggestion(member.key, std::array{key}).starts_with("; did you mean");
  });
}

void TableReader::mistake(std::string_view key, const std::string& what) {
  mistakes_->add(line(key), where_ + " " + std::string(key) + ": " + what);
}

const TomlNode* TableReader::node(std::string_view key) {
  known_.push_back(key);
  return table_->find(key);
}

const TomlNode* TableReader::ask(std::string_view key, TomlNode::Kind wanted, std::string_view example) {
  const auto* value = node(key);
  if (value == nullptr || value->kind == wanted) return value;
  mistake(key, "expected " + std::string(kind_word(wanted)) + ", found " +
                   std::string(kind_word(value->kind)) + "; write " + std::string(key) + " = " +
                   std::string(example));
  return nullptr;
}

void TableReader::read(std::string_view key, std::string& value) {
  if (const auto* found = ask(key, TomlNode::Kind::text, "\"...\"")) value = found->text;
}

void TableReader::read(std::string_view key, bool& value) {
  if (const auto* found = ask(key, TomlNode::Kind::boolean, "true")) value = found->boolean;
}

void TableReader::read(std::string_view key, int& value, std::int64_t minimum, std::int64_t maximum) {
  const auto* found = ask(key, TomlNode::Kind::integer, std::to_string(std::max<std::int64_t>(1, minimum)));
  if (found == nullptr) return;
  if (found->integer < minimum || found->integer > maximum)
    return mistake(key, std::to_string(found->integer) + " is out of range; it must be from " +
                            std::to_string(minimum) + " to " + std::to_string(maximum));
  value = static_cast<int>(found->integer);
}

void TableReader::read_fraction(std::string_view key, double& value) {
  const auto* found = node(key);
  if (found == nullptr) return;
  const bool is_number = found->kind == TomlNode::Kind::real || found->kind == TomlNode::Kind::integer;
  const double given =
      found->kind == TomlNode::Kind::real ? found->real : static_cast<double>(found->integer);
  if (!is_number || !(given > 0 && given <= 1)) return mistake(key, "must be a number above 0 and at most 1");
  value = given;
}

template <typename Parse>
void TableReader::read_parsed(std::string_view key, std::string_view example, const Parse& parse) {
  const auto* found = ask(key, TomlNode::Kind::text, example);
  if (found == nullptr) return;
  try {
    parse(*found);
  } catch (const UsageError& error) {
    mistake(key, error.what());
  }
}

void TableReader::read_rate(std::string_view key, double& bits_per_second) {
  read_parsed(key, "\"100 Mbit/s\", with its unit", [&](const TomlNode& found) {
    const double given = program::parse_rate(found.text);
    if (!(given > 0 && given <= fastest))
      throw UsageError(shown(found.text) + " is out of range; a rate is above 0 and at most 10^18 bit/s");
    bits_per_second = given;
  });
}

void TableReader::read_seconds(std::string_view key, double& seconds) {
  read_parsed(key, "\"30 us\", with its unit", [&](const TomlNode& found) {
    const double given = program::parse_seconds(found.text);
    if (given != 0 && (found.text.empty() || found.text.find_first_of("smh") == std::string::npos))
      throw UsageError(shown(found.text) + " has no unit; write \"30 us\"; units are ns, us, ms, s, min, h");
    if (given > longest) throw UsageError(shown(found.text) + " is longer than an hour");
    seconds = given;
  });
}

void TableReader::read_price(std::string_view key, Price& price) {
  read_parsed(key, "\"818 USD\", with its currency", [&](const TomlNode& found) {
    auto [amount, currency] = program::parse_price(found.text);
    if (amount > most_expensive) throw UsageError(shown(found.text) + " is out of range");
    mistakes_->check_currency(found.line, currency);
    price = {amount, std::move(currency)};
  });
}

void TableReader::read_choice(std::string_view key, std::span<const std::string_view> words,
                              std::size_t& place) {
  const auto* found = ask(key, TomlNode::Kind::text, "\"" + std::string(words.front()) + "\"");
  if (found == nullptr) return;
  const auto at = std::ranges::find(words, found->text);
  if (at == words.end())
    return mistake(key, shown(found->text) + " is not one of the choices" + suggestion(found->text, words));
  place = static_cast<std::size_t>(at - words.begin());
}

std::vector<std::string> TableReader::read_texts(std::string_view key) {
  const auto* found = node(key);
  if (found == nullptr) return {};
  if (found->kind == TomlNode::Kind::text) return {found->text};
  std::vector<std::string> texts;
  if (found->is_array()) {
    for (const auto& item : found->items)
      if (item.kind == TomlNode::Kind::text) texts.push_back(item.text);
    if (texts.size() == found->items.size()) return texts;
  }
  mistake(key, "must be a text or a list of texts; write " + std::string(key) + " = \"...\"");
  return {};
}

void TableReader::finish() {
  for (const auto& [key, value] : table_->members) {
    if (std::ranges::find(known_, key) != known_.end()) continue;
    const auto place = where_.empty() ? "at the top" : "in " + where_;
    mistakes_->add(value.line, "unknown key " + shown(key) + " " + place + suggestion(key, known_));
  }
}

}  // namespace crosscut::networks
