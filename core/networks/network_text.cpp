// Writes the JSON of network_report.hpp as text for people.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "networks/network_report.hpp"

namespace crosscut::networks {
namespace {

struct Scale {
  double factor;
  const char* unit;
};
constexpr std::array bit_rates = {Scale{1e15, "Pbit/s"}, Scale{1e12, "Tbit/s"}, Scale{1e9, "Gbit/s"},
                                  Scale{1e6, "Mbit/s"},  Scale{1e3, "kbit/s"},  Scale{1, "bit/s"}};
constexpr std::array byte_rates = {Scale{1e12, "TB/s"}, Scale{1e9, "GB/s"}, Scale{1e6, "MB/s"},
                                   Scale{1e3, "KB/s"}, Scale{1, "B/s"}};
constexpr std::array times = {Scale{1, "s"}, Scale{1e-3, "ms"}, Scale{1e-6, "us"}, Scale{1e-9, "ns"}};

// Returns four significant digits, or a whole number from 1000 on: figures are not known more precisely.
std::string digits(double value) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), std::fabs(value) >= 1000 ? "%.0f" : "%.4g", value);
  return text.data();
}

std::string scaled(double value, std::span<const Scale> scales) {
  if (value == 0) return "0 " + std::string(scales.back().unit);
  for (const auto& scale : scales)
    if (std::fabs(value) >= scale.factor * (1 - 1e-12))
      return digits(value / scale.factor) + " " + scale.unit;
  return digits(value / scales.back().factor) + " " + scales.back().unit;
}

std::string amount(double value) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), std::fabs(value - std::round(value)) < 0.005 ? "%.0f" : "%.2f",
                value);
  return text.data();
}

// "9 at 1, 14 at 2, 12 at 3"
std::string table(const json::Value& hosts_at) {
  std::string text;
  for (const auto& [distance, hosts] : hosts_at.object())
    text += (text.empty() ? "" : ", ") + digits(hosts.number()) + " at " + distance;
  return text.empty() ? "none" : text;
}

void line(std::string& text, const std::string& label, const std::string& value) {
  constexpr std::size_t width = 14;
  std::string padded = label;
  padded.resize(std::max(width, label.size() + 1), ' ');
  text += padded + value + "\n";
}

std::string counted(const json::Value& counts, const char* key, const char* one, const char* ending = "s") {
  const auto number = counts.at(key).integer();
  return std::to_string(number) + " " + one + (number == 1 ? "" : ending);
}

void distances_text(const json::Value& far, std::string& text) {
  line(text, "distance",
       "diameter " + digits(far.at("diameter_links").number()) + " links, mean " +
           digits(far.at("mean_links").number()) + "; " + digits(far.at("diameter_hops").number()) +
           " hops, mean " + digits(far.at("mean_hops").number()) + " (hops: " + far.at("hops_are").string() +
           ")");
  line(text, "hosts, by hops", table(far.at("hosts_at_hops")));
  line(text, "and by links", table(far.at("hosts_at_links")));
  if (far.at("is_sample").boolean()) {
    line(text, "",
         "seen from " + std::to_string(far.at("looked_from_hosts").integer()) +
             " evenly spaced hosts: a mean, and a lower bound on the diameter");
  } else if (!far.at("all_hosts_see_alike").boolean()) {
    line(text, "", "mean over hosts, which see different distances");
  }
}

void bisection_text(const json::Value& cut, std::string& text) {
  if (cut.is_null())
    return line(text, "bisection", "not computed (one host, or too large to search for a cut)");
  const auto rate = [&](const char* key) { return scaled(cut.at(key).number(), bit_rates); };
  const bool is_bound = cut.at("kind").string() == "bound";
  line(text, "bisection",
       std::string(is_bound ? "at most " : "") + rate("bits_per_second") +
           " in each direction = " + digits(cut.at("host_links").number()) + " links of a host");
  line(text, "",
       rate("per_host_bits_per_second") + " per host (over all hosts), " +
           rate("per_host_of_half_bits_per_second") + " per host of one half");
  line(text, "", cut.at("formula").string());
}

void price_text(const json::Value& price, std::string& text) {
  if (price.is_null()) return line(text, "price", "unknown (the file names none)");
  const auto currency = " " + price.at("currency").string();
  const double total = price.at("total").number();
  line(text, "price",
       amount(total) + currency + ", " + amount(price.at("per_host").number()) + currency + " per host");
  std::string parts;
  for (const char* part : {"hosts", "adapters", "switches", "ports", "cables"}) {
    const double its = price.at(part).number();
    if (its <= 0) continue;
    parts += (parts.empty() ? "" : ", ") + std::string(part) + " " + amount(its) + " (" +
             digits(std::round(1000 * its / total) / 10) + " %)";
  }
  line(text, "", parts);
}

}  // namespace

std::string network_text(const json::Value& described) {
  std::string text = described.at("name").string();
  if (const auto& title = described.at("title").string(); !title.empty()) text += ": " + title;
  text += "\n";
  line(text, "kind", described.at("kind").string());
  if (const auto& source = described.at("source").string(); !source.empty()) line(text, "source", source);
  const auto& counts = described.at("counts");
  line(text, "hosts",
       counted(counts, "hosts", "host") + ", " + counted(counts, "processors", "processor") + ", " +
           counted(counts, "adapters", "adapter"));
  line(text, "switches",
       counted(counts, "switches", "switch", "es") + ", " + counted(counts, "switch_ports", "port") +
           " wired; " + counted(counts, "links", "link") + ", " + counted(counts, "cables", "cable"));
  distances_text(described.at("distances"), text);
  bisection_text(described.at("bisection"), text);
  price_text(described.at("price"), text);
  const auto& protocol = described.at("protocol");
  line(text, "protocol",
       protocol.at("name").string() + ", " + digits(100 * protocol.at("efficiency").number()) +
           " % of a link's rate is payload");
  for (const auto& figure : described.at("further").array())
    line(text, figure.at("name").string(),
         digits(figure.at("value").number()) + " = " + figure.at("formula").string());
  return text;
}

std::string route_text(const json::Value& described) {
  std::string text;
  for (const auto& vertex : described.at("vertices").array())
    text += (text.empty() ? "" : " -> ") + vertex.string();
  text += "\n";
  line(text, "latency", scaled(described.at("latency_seconds").number(), times));
  for (const auto& its : described.at("capacities").array()) {
    const auto& rate = its.at("payload_bytes_per_second");
    line(text, "shares",
         its.at("name").string() + " (" +
             (rate.is_number() && std::isfinite(rate.number()) ? scaled(rate.number(), byte_rates)
                                                               : "no bound") +
             ")");
  }
  return text;
}

}  // namespace crosscut::networks
