// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/ratio_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "harness/measure/sample_summary.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

constexpr double kWidth = 240.0;
constexpr double kEdge = 10.0;  // left for arrows
constexpr double kLargestReach = 1.3863;
constexpr double kMinReach = 0.02;
constexpr double kGap = 3.0;    // times as far as its neighbour: an outlier
constexpr double kFence = 3.0;  // interquartile ranges beyond the quartiles, as Tukey's outer one
constexpr double kMinSpread = 0.01;  // of the median, that counts as an interquartile range
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

/// Returns the largest extent that an axis holds. From a gap on, extents are outliers: each is more
/// than kGap times as far as the one before. At least half of the extents are held.
double robust_reach(std::vector<double> extents) {
  if (extents.empty()) {
    return kMinReach;
  }
  std::sort(extents.begin(), extents.end());
  std::size_t last = (extents.size() - 1) / 2;
  while (last + 1 < extents.size() &&
         extents[last + 1] <= kGap * std::max(extents[last], kMinReach)) {
    ++last;
  }
  return std::max(extents[last], kMinReach);
}

std::string percent_text(double ratio) {
  const double percent = 100.0 * (ratio - 1.0);
  return std::abs(percent) >= 10.0 ? fmt::format("{:+.0f} %", percent)
                                   : fmt::format("{:+.1f} %", percent);
}

/// Axis of times.
struct TimeAxis {
  Seconds low{};
  Seconds high{};

  [[nodiscard]] double place(Seconds time) const {
    const double span = std::max((high - low).count(), 1e-15);
    return kEdge + (kStripWidth - 2.0 * kEdge) * (time - low).count() / span;
  }
};

/// Returns the axis that holds the times of both sides, but for those beyond the outer fences of
/// their own side.
TimeAxis robust_axis(const std::vector<Seconds>& before, const std::vector<Seconds>& after) {
  TimeAxis axis{Seconds::max(), Seconds::min()};
  for (const std::vector<Seconds>* const times : {&before, &after}) {
    const Seconds first = measure::quantile(*times, 0.25);
    const Seconds third = measure::quantile(*times, 0.75);
    const Seconds reach =
        kFence * std::max(third - first, kMinSpread * measure::quantile(*times, 0.5));
    axis.low = std::min(axis.low, *std::lower_bound(times->begin(), times->end(), first - reach));
    axis.high = std::max(axis.high,
                         *std::prev(std::upper_bound(times->begin(), times->end(), third + reach)));
  }
  return axis;
}

/// Draws how many times lie beyond one end of the axis, and the farthest of them.
std::string beyond_text(std::size_t count, Seconds farthest, bool high, double top) {
  if (count == 0) {
    return {};
  }
  return fmt::format(
      "<path class=\"beyond\" d=\"M{:.0f} {:.0f}l{}7-5v10z\"/><text class=\"beyond\" x=\"{:.0f}\" "
      "y=\"{:.0f}\"{}>{} beyond, to {}</text>",
      high ? kStripWidth - 1.0 : 1.0,
      top + 8.0,
      high ? "-" : "",
      high ? kStripWidth - kEdge : kEdge,
      top + 28.0,
      high ? " text-anchor=\"end\"" : "",
      count,
      time_text(farthest));
}

/// Draws one side: thin lines, a thick one for the median, and what lies beyond the axis.
std::string strip(const std::vector<Seconds>& times,
                  const TimeAxis& axis,
                  double top,
                  const char* name) {
  const auto first = std::lower_bound(times.begin(), times.end(), axis.low);
  const auto last = std::upper_bound(times.begin(), times.end(), axis.high);
  const auto held = static_cast<std::size_t>(last - first);
  std::string lines;
  const std::size_t count = std::min(held, kMaxLines);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = count == 1 ? 0 : i * (held - 1) / (count - 1);
    lines += fmt::format(
        "M{:.1f} {:.0f}v16", axis.place(*(first + static_cast<std::ptrdiff_t>(at))), top);
  }
  return fmt::format(
      "<path class=\"{0}\" d=\"{1}\"/><path class=\"{0} median\" d=\"M{2:.1f} "
      "{3:.0f}v22\"/>{4}{5}",
      name,
      lines,
      axis.place(measure::quantile(times, 0.5)),
      top - 3.0,
      beyond_text(static_cast<std::size_t>(first - times.begin()), times.front(), false, top),
      beyond_text(static_cast<std::size_t>(times.end() - last), times.back(), true, top));
}

std::string summary(const char* side, const std::vector<Seconds>& times) {
  return fmt::format("{} n = {}, median {}, {} … {}",
                     side,
                     times.size(),
                     time_text(measure::quantile(times, 0.5)),
                     time_text(times.front()),
                     time_text(times.back()));
}

}  // namespace

RatioPlot::RatioPlot(std::span<const analysis::MetricComparison* const> metrics)
    : reach_(kMinReach) {
  std::vector<double> extents;
  for (const analysis::MetricComparison* metric : metrics) {
    if (metric->ratio) {
      extents.push_back(
          std::max(std::abs(finite_log(metric->low)), std::abs(finite_log(metric->high))));
    }
  }
  reach_ = std::min(1.05 * robust_reach(std::move(extents)), kLargestReach);
}

double RatioPlot::place(double ratio) const {
  const double at = std::clamp(finite_log(ratio) / reach_, -1.0, 1.0);
  return kWidth / 2.0 + at * (kWidth / 2.0 - kEdge);
}

std::string RatioPlot::axis() const {
  return fmt::format(
      "<svg class=\"ratio\" viewBox=\"0 0 240 18\" role=\"img\" aria-label=\"change from {0} to "
      "{1}\"><text x=\"2\" y=\"13\">{0}</text><text x=\"120\" y=\"13\" "
      "text-anchor=\"middle\">0</text><text x=\"238\" y=\"13\" "
      "text-anchor=\"end\">{1}</text></svg>",
      percent_text(std::exp(-reach_)),
      percent_text(std::exp(reach_)));
}

std::string RatioPlot::row(const analysis::MetricComparison& metric) const {
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
  // Without a place on the axis, a point is its value at the end of the axis.
  const double point = finite_log(*metric.ratio);
  const std::string marker =
      std::abs(point) <= reach_
          ? fmt::format("<rect x=\"{:.1f}\" y=\"5\" width=\"8\" height=\"8\"/>",
                        place(*metric.ratio) - 4.0)
          : fmt::format("<text class=\"beyond\" x=\"{}\" y=\"7\"{}>{}</text>",
                        point > 0.0 ? 228 : 12,
                        point > 0.0 ? " text-anchor=\"end\"" : "",
                        percent_text(*metric.ratio));
  return fmt::format(
      "<svg class=\"ratio {}\" viewBox=\"0 0 240 18\" role=\"img\" aria-label=\"{:+.2f} %, "
      "{:+.2f} % to {:+.2f} %\"><line class=\"none\" x1=\"120\" x2=\"120\" y1=\"0\" "
      "y2=\"18\"/><line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"9\" y2=\"9\"/>{}{}</svg>",
      to_text(metric.verdict),
      100.0 * (*metric.ratio - 1.0),
      100.0 * (metric.low - 1.0),
      100.0 * (metric.high - 1.0),
      low,
      high,
      marker,
      arrows);
}

std::string sample_strips(std::span<const Seconds> baseline, std::span<const Seconds> candidate) {
  if (baseline.empty() || candidate.empty()) {
    return {};
  }
  const std::vector<Seconds> before = sorted(baseline);
  const std::vector<Seconds> after = sorted(candidate);
  const TimeAxis axis = robust_axis(before, after);
  const std::string text =
      summary("above, baseline:", before) + "; " + summary("below, candidate:", after);
  return fmt::format(
      "<svg class=\"strips\" viewBox=\"0 0 640 78\" role=\"img\" aria-label=\"{}\">{}{}<text "
      "x=\"10\" y=\"74\">{}</text><text x=\"630\" y=\"74\" "
      "text-anchor=\"end\">{}</text></svg><p class=\"caption\">{}</p>",
      text,
      strip(before, axis, 8.0, "baseline"),
      strip(after, axis, 36.0, "candidate"),
      time_text(axis.low),
      time_text(axis.high),
      text);
}

}  // namespace plumb::reporting
