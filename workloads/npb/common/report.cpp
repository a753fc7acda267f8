#include "npb/common/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace crosscut::npb {

namespace {

template <typename... Values>
std::string format(const char* pattern, Values... values) {
  const int length = std::snprintf(nullptr, 0, pattern, values...);
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  std::snprintf(text.data(), text.size(), pattern, values...);
  text.pop_back();
  return text;
}

// JSON has neither NaN nor infinity. All texts here are our own and contain no quotation marks.
std::string number(double value) { return std::isfinite(value) ? format("%.17g", value) : "null"; }

std::string json_string(std::string_view text) { return '"' + std::string(text) + '"'; }

double share(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string for_people(const Figure& figure) {
  const bool is_share = figure.unit == "share";
  const double value = figure.value * (is_share ? 100 : 1);
  const bool is_whole = value == std::floor(value) || std::abs(value) >= 1000;
  const std::string digits = format(is_whole ? "%.0f" : "%.4g", value);
  return format("  %-24s %8s  %s %s\n", figure.name.c_str(), figure.at.c_str(), digits.c_str(),
                is_share ? "%" : figure.unit.c_str());
}

// Leaves out values that are not numbers: they cannot be measured here.
std::string as_json(std::span<const Figure> figures) {
  std::string text;
  for (const Figure& one : figures)
    if (std::isfinite(one.value))
      text += (text.empty() ? "{\"name\":" : ",{\"name\":") + json_string(one.name) +
              ",\"value\":" + number(one.value) + ",\"unit\":" + json_string(one.unit) +
              ",\"at\":" + json_string(one.at) + "}";
  return ",\"figures\":[" + text + "]";
}

}  // namespace

bool Report::verified() const {
  return !outcome.checks.empty() && std::ranges::all_of(outcome.checks, &Check::holds);
}

double Report::million_operations_per_second() const {
  return seconds > 0 ? outcome.million_operations / seconds : 0;
}

Report make_report(const About& about, ProblemClass problem_class, Outcome outcome,
                   std::span<const double> seconds, std::span<const double> communication_seconds) {
  std::vector<double> sorted(communication_seconds.begin(), communication_seconds.end());
  std::ranges::sort(sorted);
  return {.about = about,
          .class_letter = letter(problem_class),
          .ranks = static_cast<int>(seconds.size()),
          .outcome = std::move(outcome),
          .seconds = std::ranges::max(seconds),
          .minimum_communication_seconds = sorted.front(),
          .median_communication_seconds = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2,
          .maximum_communication_seconds = sorted.back()};
}

std::string for_people(const Report& report) {
  const Outcome& outcome = report.outcome;
  std::string text = std::string(report.about.title) + "\n\n";
  text += format("  class          %c: %s\n", report.class_letter, outcome.size.c_str());
  text += format("  ranks          %d%s%s\n", report.ranks, outcome.layout.empty() ? "" : ", ",
                 outcome.layout.c_str());
  if (outcome.iterations > 0) text += format("  iterations     %d\n", outcome.iterations);
  text += format("  time           %.4g s\n", report.seconds);
  text += format("  speed          %.4g Mop/s (%s)\n", report.million_operations_per_second(),
                 std::string(report.about.operation).c_str());
  text +=
      format("  communication  %.4g s, %.3g %% of the time (median rank; least %.4g s, most %.4g s)\n",
             report.median_communication_seconds, share(report.median_communication_seconds, report.seconds),
             report.minimum_communication_seconds, report.maximum_communication_seconds);
  for (const Figure& figure : outcome.figures)
    if (std::isfinite(figure.value)) text += for_people(figure);
  for (const Check& check : outcome.checks)
    if (!check.holds())
      text += format("  wrong          %s is %.13g, but %s is %.13g: off by %.2g, allowed %.2g\n",
                     check.name.c_str(), check.computed, std::string(check.origin).c_str(), check.published,
                     check.error(), check.tolerance);
  text += format("  verification   %s (%zu %s)\n", report.verified() ? "passed" : "FAILED",
                 outcome.checks.size(), outcome.checks.size() == 1 ? "value" : "values");
  return text;
}

std::string as_json(const Report& report) {
  const Outcome& outcome = report.outcome;
  std::string text = "{\"name\":" + json_string(report.about.name);
  text += ",\"class\":" + json_string({&report.class_letter, 1});
  text += ",\"ranks\":" + std::to_string(report.ranks);
  text += ",\"size\":" + json_string(outcome.size) + ",\"layout\":" + json_string(outcome.layout);
  text += ",\"iterations\":" + std::to_string(outcome.iterations);
  text += ",\"seconds\":" + number(report.seconds);
  text += ",\"mops\":" + number(report.million_operations_per_second());
  text += std::string(",\"verified\":") + (report.verified() ? "true" : "false");
  text += R"(,"communication_seconds":{"minimum":)" + number(report.minimum_communication_seconds) +
          ",\"median\":" + number(report.median_communication_seconds) +
          ",\"maximum\":" + number(report.maximum_communication_seconds) + R"(},"checks":[)";
  for (std::size_t i = 0; i < outcome.checks.size(); ++i) {
    const Check& check = outcome.checks[i];
    text += std::string(i > 0 ? "," : "") + "{\"name\":" + json_string(check.name) +
            ",\"computed\":" + number(check.computed) + ",\"published\":" + number(check.published) +
            ",\"tolerance\":" + number(check.tolerance) + "}";
  }
  text += "]";
  if (!outcome.figures.empty()) text += as_json(outcome.figures);
  return text + "}";
}

}  // namespace crosscut::npb
