// Parameters of patterns, backends and generators: described once, parsed once, listed by `crosscut-core
// list`.
//
// Values travel as text (command line, JSON job) and are validated here and nowhere else.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crosscut::program {

struct Parameter {
  // integer: "12"; real: "0.5"; bytes: "1MB" (10^6), "64KiB", "100"; seconds: "30", "5ms";
  // rate: "100 Mbit/s", "12.5 MB/s", in bits per second, never without its unit;
  // boolean: "true"/"false"; choice: one of `choices`; ranks: "0,4,8-15" or ranges "0-63:8";
  // pairs: "0-1,2-3" (see parse_pairs); text: unparsed.
  enum class Kind : std::uint8_t { integer, real, bytes, seconds, rate, boolean, choice, ranks, pairs, text };

  std::string_view name{};  // command-line name without "--": "stride"
  Kind kind = Kind::text;
  std::string_view unit{};     // "ranks", "bytes", "seconds", "phases", ... or empty
  std::string_view initial{};  // the default, as text; empty: none
  std::string_view help{};     // one sentence, no full stop
  std::vector<std::string_view> choices{};
  double minimum = 0;  // integer, real, bytes, seconds, rate
  double maximum = 9.0e15;
};

using RankList = std::vector<std::int32_t>;
using PairList = std::vector<std::pair<std::int32_t, std::int32_t>>;

// Parsers of user text. Each throws UsageError quoting the text and saying what would be valid.
std::int64_t parse_bytes(std::string_view text);  // "1.5MB" -> 1500000; KB MB GB 10^3, KiB MiB GiB 2^10
double parse_seconds(std::string_view text);      // "5ms" -> 0.005; ns us ms s min h
double parse_rate(std::string_view text);         // "1.6 Gbit/s" -> 1.6e9 bits per second; "12.5 MB/s" -> 1e8
// "818 USD" -> 818 and "USD"; currencies are three capitals (ISO 4217).
std::pair<double, std::string> parse_price(std::string_view text);
std::int64_t parse_integer(std::string_view text);
double parse_real(std::string_view text);  // finite only
bool parse_boolean(std::string_view text);
RankList parse_ranks(std::string_view text);  // "0,4,8-15", "0-63:8"; duplicates are an error
PairList parse_pairs(std::string_view text);  // "0-1,2-3"; "0..7-8..15" pairs i-th with i-th
std::vector<std::int64_t> parse_sizes(std::string_view text);  // "1KB,3KB,1MB"

// Throws UsageError if `text` is not a valid value of `parameter`.
void check_value(const Parameter& parameter, std::string_view text);

// Values of the parameters of one pattern or backend: valid and complete, with defaults filled in.
class Parameters {
 public:
  // Throws UsageError for an unknown name, an invalid value or a value out of range; the message begins with
  // `owner` ("pattern aapc"). Names have no "--".
  Parameters(std::span<const Parameter> known, const std::map<std::string, std::string>& given,
             std::string_view owner);

  std::int64_t integer(std::string_view name) const;  // also bytes
  double real(std::string_view name) const;           // also seconds and rate
  bool boolean(std::string_view name) const;
  const std::string& text(std::string_view name) const;  // any kind, as given
  RankList ranks(std::string_view name) const;           // empty text: empty list
  PairList pairs(std::string_view name) const;
  bool given(std::string_view name) const;  // set explicitly, even to its default
  const std::map<std::string, std::string>& all() const { return values_; }

 private:
  std::map<std::string, std::string> values_;
  std::vector<std::string> given_;
};

}  // namespace crosscut::program
