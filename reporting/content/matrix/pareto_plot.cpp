// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reporting/content/matrix/matrix_page.hpp"
#include "reporting/document/quantity_text.hpp"

namespace plumb::reporting {
namespace {

constexpr double kPictureWidth = 560.0;
constexpr double kPictureHeight = 260.0;
constexpr double kMargin = 30.0;
constexpr double kMinExtent = 0.05;  // ln: a single value still has an axis

/// Logarithmic axis from one end of the picture to the other.
class LogAxis {
 public:
  LogAxis(double from, double to) : from_(from), to_(to) {}
  void hold(double value) {
    low_ = std::min(low_, std::log(value));
    high_ = std::max(high_, std::log(value));
  }
  [[nodiscard]] double place(double value) const {
    const double extent = std::max(high_ - low_, kMinExtent);
    return from_ + (to_ - from_) * (std::log(value) - low_) / extent;
  }
  [[nodiscard]] double low() const { return std::exp(low_); }
  [[nodiscard]] double high() const { return std::exp(high_); }

 private:
  double from_;
  double to_;
  double low_ = HUGE_VAL;
  double high_ = -HUGE_VAL;
};

/// Draws the front as steps: each of its points by latency, then right and up to the next.
std::string steps(const analysis::ParetoFront& front, const LogAxis& x, const LogAxis& y) {
  std::vector<const analysis::ParetoFront::Point*> points;
  for (const analysis::ParetoFront::Point& point : front.points) {
    if (point.on_front) {
      points.push_back(&point);
    }
  }
  std::sort(points.begin(), points.end(), [](const auto* one, const auto* other) {
    return one->seconds.value < other->seconds.value;
  });
  std::string path;
  for (const analysis::ParetoFront::Point* const point : points) {
    const double right = x.place(point->seconds.value);
    const double up = y.place(point->inputs_per_second.value);
    path += path.empty() ? fmt::format("M{:.1f} {:.1f}", right, up)
                         : fmt::format("H{:.1f}V{:.1f}", right, up);
  }
  return fmt::format("<path d=\"{}\"/>", path);
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor, text);
}

}  // namespace

std::string pareto_plot(const analysis::ParetoFront& front, const std::optional<Seconds>& limit) {
  if (front.points.size() < 2) {
    return {};
  }
  LogAxis x(kMargin, kPictureWidth - kMargin);
  LogAxis y(kPictureHeight - kMargin, kMargin);
  for (const analysis::ParetoFront::Point& point : front.points) {
    x.hold(point.seconds.value);
    y.hold(point.inputs_per_second.value);
  }
  if (limit) {
    x.hold(limit->count());
  }
  std::string svg = fmt::format("<svg class=\"pareto\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">",
                                kPictureWidth,
                                kPictureHeight);
  svg += fmt::format("<title>throughput over latency, a point for each batch</title>");
  svg += steps(front, x, y);
  if (limit) {
    const double at = x.place(limit->count());
    svg += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\"/>",
                       at,
                       kMargin / 2.0,
                       kPictureHeight - kMargin);
  }
  for (const analysis::ParetoFront::Point& point : front.points) {
    const double right = x.place(point.seconds.value);
    const double up = y.place(point.inputs_per_second.value);
    svg += fmt::format("<circle{} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>",
                       point.on_front ? " class=\"front\"" : "",
                       right,
                       up);
    svg += label(right, up - 8.0, "middle", fmt::format("{}", point.batch));
  }
  const double bottom = kPictureHeight - 8.0;
  svg += label(kMargin, bottom, "start", time_text(Seconds(x.low())));
  svg += label(kPictureWidth - kMargin, bottom, "end", time_text(Seconds(x.high())));
  svg += label(4.0, kPictureHeight - kMargin - 6.0, "start", rate_text(y.low()));
  svg += label(4.0, kMargin - 14.0, "start", rate_text(y.high()));
  return svg + "</svg>";
}

}  // namespace plumb::reporting
