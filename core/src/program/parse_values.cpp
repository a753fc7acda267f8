// Parsers of numbers, quantities and lists of sizes, declared in parameters.hpp.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "base/error.hpp"
#include "base/words.hpp"
#include "program/parameters.hpp"

namespace crosscut::program {
namespace {

constexpr std::size_t most_sizes = 4096;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

template <typename T>
bool read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

struct Unit {
  std::string_view name;
  std::int64_t bytes;
};
constexpr Unit byte_units[] = {
    {"", 1},
    {"B", 1},
    {"KB", 1'000},
    {"kB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"TB", 1'000'000'000'000},
    {"KiB", std::int64_t{1} << 10},
    {"MiB", std::int64_t{1} << 20},
    {"GiB", std::int64_t{1} << 30},
    {"TiB", std::int64_t{1} << 40},
};

using Factors = std::map<std::string_view, double>;
const Factors seconds_of_unit{{"", 1},  {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
                              {"s", 1}, {"min", 60},  {"h", 3600}};
// Rates have decimal prefixes only: link rates are never given in Mibit/s.
const Factors bits_of_unit{{"bit/s", 1},     {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9},
                           {"Tbit/s", 1e12}, {"B/s", 8},      {"kB/s", 8e3},   {"KB/s", 8e3},
                           {"MB/s", 8e6},    {"GB/s", 8e9},   {"TB/s", 8e12}};

// Returns the unit of rates that a common other spelling means (Gbps, Gb/s, GBps); empty if there is none.
std::string meant_rate_unit(std::string_view written) {
  const std::string prefix =
      !written.empty() && std::string_view("kKMGT").find(written[0]) != std::string_view::npos
          ? std::string(written[0] == 'K' ? "k" : written.substr(0, 1))
          : "";
  const std::string_view rest = written.substr(prefix.size());
  for (const std::string_view bits : {"bps", "b/s", "bit", "bits", "bits/s", "bit/sec"})
    if (rest == bits) return prefix + "bit/s";
  for (const std::string_view bytes : {"Bps", "B/sec", "byte/s", "bytes/s"})
    if (rest == bytes) return prefix + "B/s";
  return {};
}

// Reads a number and the unit that follows it at `end`; nullopt if either is invalid.
std::optional<double> quantity(std::string_view word, std::size_t end, const Factors& units) {
  const auto unit = units.find(trimmed(word.substr(std::min(word.size(), end))));
  double value = 0;
  if (unit == units.end() || !read_number(word.substr(0, end), value)) return std::nullopt;
  value *= unit->second;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

[[noreturn]] void not_bytes(std::string_view text) {
  throw UsageError(
      shown(text) +
      " is not a number of bytes; write 100, 64KiB (2^10) or 1.5MB (10^6); units are B, KB, MB, GB, "
      "TB, KiB, MiB, GiB, TiB");
}

// Returns whole.fraction * unit without rounding, by cancelling the common factors of 10^digits and the unit.
std::int64_t exact_product(std::string_view text, std::string_view whole, std::string_view fraction,
                           std::int64_t unit) {
  std::int64_t result = 0;
  if (!whole.empty() && (!read_number(whole, result) || result < 0)) not_bytes(text);
  if (__builtin_mul_overflow(result, unit, &result)) not_bytes(text);
  while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
  if (fraction.empty()) return result;
  std::int64_t parts = 0;
  std::int64_t scale = 1;
  if (fraction.size() > 17 || !read_number(fraction, parts) || parts < 0) not_bytes(text);
  for (std::size_t i = 0; i < fraction.size(); ++i) scale *= 10;
  const std::int64_t shared = std::gcd(scale, unit);
  if (parts % (scale / shared) != 0) throw UsageError(shown(text) + " is not a whole number of bytes");
  if (__builtin_add_overflow(result, parts / (scale / shared) * (unit / shared), &result)) not_bytes(text);
  return result;
}

}  // namespace

std::int64_t parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const std::string_view word = trimmed(text);
  if (word.empty() || !read_number(word, value)) throw UsageError(shown(text) + " is not a whole number");
  return value;
}

double parse_real(std::string_view text) {
  double value = 0;
  const std::string_view word = trimmed(text);
  if (word.empty() || !read_number(word, value) || !std::isfinite(value))
    throw UsageError(shown(text) + " is not a number");
  return value;
}

bool parse_boolean(std::string_view text) {
  const std::string_view word = trimmed(text);
  if (word == "true") return true;
  if (word == "false") return false;
  throw UsageError(shown(text) + " is neither true nor false");
}

std::int64_t parse_bytes(std::string_view text) {
  const std::string_view word = trimmed(text);
  const std::string_view digits =
      word.substr(0, std::min(word.size(), word.find_first_not_of("0123456789.")));
  const std::string_view name = trimmed(word.substr(digits.size()));
  const auto* const unit = std::ranges::find(byte_units, name, &Unit::name);
  const auto point = digits.find('.');
  const std::string_view whole = digits.substr(0, point);
  const std::string_view fraction = point == std::string_view::npos ? "" : digits.substr(point + 1);
  const bool has_digit = !whole.empty() || !fraction.empty();
  if (unit == std::end(byte_units) || !has_digit || fraction.find('.') != std::string_view::npos)
    not_bytes(text);
  return exact_product(text, whole, fraction, unit->bytes);
}

double parse_seconds(std::string_view text) {
  const std::string_view word = trimmed(text);
  const auto value = quantity(word, word.find_last_of("0123456789.") + 1, seconds_of_unit);
  if (!value || *value < 0)
    throw UsageError(shown(text) +
                     " is not a duration; write 30, 5ms or 2min; units are ns, us, ms, s, min, h");
  return *value;
}

double parse_rate(std::string_view text) {
  const std::string_view word = trimmed(text);
  const auto end = std::min(word.size(), word.find_first_not_of("0123456789."));
  const auto value = quantity(word, end, bits_of_unit);
  if (value) return *value;
  const auto unit = meant_rate_unit(trimmed(word.substr(end)));
  if (end > 0 && !unit.empty())
    throw UsageError(shown(text) + " is not a rate; write \"" + std::string(word.substr(0, end)) + " " +
                     unit + "\"");
  throw UsageError(shown(text) +
                   " is not a rate; write \"100 Mbit/s\" or \"12.5 MB/s\"; units are bit/s, kbit/s, Mbit/s, "
                   "Gbit/s, Tbit/s and B/s, kB/s, MB/s, GB/s, TB/s");
}

std::pair<double, std::string> parse_price(std::string_view text) {
  const std::string_view word = trimmed(text);
  const auto end = std::min(word.size(), word.find_first_not_of("0123456789."));
  const std::string_view currency = trimmed(word.substr(end));
  const bool is_code =
      currency.size() == 3 && std::ranges::all_of(currency, [](char c) { return c >= 'A' && c <= 'Z'; });
  double amount = 0;
  if (!is_code || !read_number(word.substr(0, end), amount) || !std::isfinite(amount))
    throw UsageError(shown(text) +
                     " is not a price; write \"818 USD\": an amount and a currency of three capitals");
  return {amount, std::string(currency)};
}

std::vector<std::int64_t> parse_sizes(std::string_view text) {
  std::vector<std::int64_t> sizes;
  for (const std::string_view size : split(text, ',')) {
    sizes.push_back(parse_bytes(size));
    if (std::count(sizes.begin(), sizes.end(), sizes.back()) > 1)
      throw UsageError("size " + std::to_string(sizes.back()) + " is named twice in " + shown(text));
    if (sizes.size() > most_sizes) throw UsageError("more than " + std::to_string(most_sizes) + " sizes");
  }
  return sizes;
}

}  // namespace crosscut::program
