// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/ratio_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/measure/sample_summary.hpp"
#include "reporting/document/quantity_text.hpp"

namespace plumb {
namespace {

constexpr double kWidth = 240.0;
constexpr double kEdge = 10.0;  // left for arrows
constexpr double kLargestReach = 1.3863;
constexpr double kMinReach = 0.02;
constexpr double kStripWidth = 640.0;
constexpr std::size_t kMaxLines = 200;

double finite_log(double ratio) {
  return ratio > 0.0 && std::isfinite(ratio) ? std::log(ratio) : kLargestReach;
}

std::vector<Seconds> sorted(std::span<const Seconds> samples) {
  std::vector<Seconds> times(samples.begin(), samples.end());
  std::sort(times.begin(), times.end());
  return times;
}

/// Draws one side: thin lines, and a thick one for the median.
std::string strip(
    const std::vector<Seconds>& times, Seconds low, Seconds high, double top, const char* name) {
  const double span = std::max((high - low).count(), 1e-15);
  const auto place = [&](Seconds time) {
    return kEdge + (kStripWidth - 2.0 * kEdge) * (time - low).count() / span;
  };
  std::string lines;
  const std::size_t count = std::min(times.size(), kMaxLines);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = count == 1 ? 0 : i * (times.size() - 1) / (count - 1);
    lines += fmt::format("M{:.1f} {:.0f}v16", place(times[at]), top);
  }
  const double median = place(quantile(times, 0.5));
  return fmt::format(
      "<path class=\"{0}\" d=\"{1}\"/><path class=\"{0} median\" d=\"M{2:.1f} {3:.0f}v22\"/>",
      name,
      lines,
      median,
      top - 3.0);
}

std::string summary(const char* side, const std::vector<Seconds>& times) {
  return fmt::format("{} n = {}, median {}, {} … {}",
                     side,
                     times.size(),
                     time_text(quantile(times, 0.5)),
                     time_text(times.front()),
                     time_text(times.back()));
}

}  // namespace

RatioPlot::RatioPlot(std::span<const MetricComparison* const> metrics) : reach_(kMinReach) {
  for (const MetricComparison* metric : metrics) {
    if (metric->ratio) {
      reach_ =
          std::max({reach_, std::abs(finite_log(metric->low)), std::abs(finite_log(metric->high))});
    }
  }
  reach_ = std::min(1.05 * reach_, kLargestReach);
}

double RatioPlot::place(double ratio) const {
  const double at = std::clamp(finite_log(ratio) / reach_, -1.0, 1.0);
  return kWidth / 2.0 + at * (kWidth / 2.0 - kEdge);
}

std::string RatioPlot::axis() const {
  const auto percent = [](double ratio) { return fmt::format("{:+.1f} %", 100.0 * (ratio - 1.0)); };
  return fmt::format(
      "<svg class=\"ratio\" viewBox=\"0 0 240 18\" role=\"img\" aria-label=\"change from {0} to "
      "{1}\"><text x=\"2\" y=\"13\">{0}</text><text x=\"120\" y=\"13\" "
      "text-anchor=\"middle\">0</text><text x=\"238\" y=\"13\" "
      "text-anchor=\"end\">{1}</text></svg>",
      percent(std::exp(-reach_)),
      percent(std::exp(reach_)));
}

std::string RatioPlot::row(const MetricComparison& metric) const {
  if (!metric.ratio) {
    return {};
  }
  const double low = place(metric.low);
  const double high = place(metric.high);
  std::string arrows;
  if (finite_log(metric.low) < -reach_) {
    arrows += "<path d=\"M2 9l7-4v8z\"/>";
  }
  if (finite_log(metric.high) > reach_) {
    arrows += "<path d=\"M238 9l-7-4v8z\"/>";
  }
  return fmt::format(
      "<svg class=\"ratio {}\" viewBox=\"0 0 240 18\" role=\"img\" aria-label=\"{:+.2f} %, "
      "{:+.2f} % to {:+.2f} %\"><line class=\"none\" x1=\"120\" x2=\"120\" y1=\"0\" "
      "y2=\"18\"/><line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"9\" y2=\"9\"/><rect x=\"{:.1f}\" y=\"5\" "
      "width=\"8\" height=\"8\"/>{}</svg>",
      to_text(metric.verdict),
      100.0 * (*metric.ratio - 1.0),
      100.0 * (metric.low - 1.0),
      100.0 * (metric.high - 1.0),
      low,
      high,
      place(*metric.ratio) - 4.0,
      arrows);
}

std::string sample_strips(std::span<const Seconds> baseline, std::span<const Seconds> candidate) {
  if (baseline.empty() || candidate.empty()) {
    return {};
  }
  const std::vector<Seconds> before = sorted(baseline);
  const std::vector<Seconds> after = sorted(candidate);
  const Seconds low = std::min(before.front(), after.front());
  const Seconds high = std::max(before.back(), after.back());
  const std::string text =
      summary("above, baseline:", before) + "; " + summary("below, candidate:", after);
  return fmt::format(
      "<svg class=\"strips\" viewBox=\"0 0 640 78\" role=\"img\" aria-label=\"{}\">{}{}<text "
      "x=\"10\" y=\"74\">{}</text><text x=\"630\" y=\"74\" "
      "text-anchor=\"end\">{}</text></svg><p class=\"caption\">{}</p>",
      text,
      strip(before, low, high, 8.0, "baseline"),
      strip(after, low, high, 36.0, "candidate"),
      time_text(low),
      time_text(high),
      text);
}

}  // namespace plumb
