// SPDX-License-Identifier: Apache-2.0
//
// What a look every night finds: how many of a thousand quiet series have an open change on any of
// 100 nights, and how many nights it takes until a step is open. Prints the Markdown tables of
// docs/reference/change-detection.md; ci/change-detection-tables puts them there. Draws have odd
// seeds, which the rule was not tuned on. Fails if more than ten quiet series of a family open.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tests/support/growing_history.hpp"
#include "tests/support/series_family.hpp"

namespace plumb {
namespace {

constexpr std::size_t kNights = 100;
constexpr std::size_t kSeries = 1000;
constexpr std::size_t kStepped = 200;  // series of a cell with a step
constexpr std::size_t kFirstLook = 9;  // fewer points have no changes

std::string_view name_of(NoiseFamily family) {
  return kNoiseFamilyNames.at(static_cast<std::size_t>(family));
}

/// Returns a share's 95% interval (Wilson, JASA 22, 1927), in percent.
std::string interval_text(std::size_t found, std::size_t of) {
  constexpr double z = 1.96;
  const auto n = static_cast<double>(of);
  const double share = static_cast<double>(found) / n;
  const double middle = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
  const double reach =
      z / (1.0 + z * z / n) * std::sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n));
  return fmt::format(
      "{:.1f} to {:.1f} %", 100.0 * std::max(middle - reach, 0.0), 100.0 * (middle + reach));
}

std::vector<double> history_of(SeriesFamily& source, std::size_t step_at, double step) {
  std::vector<double> values;
  for (const double noise : source.draw(kNights)) {
    values.push_back(100.0 * (1.0 + kFamilyDeviation * noise) *
                     (values.size() >= step_at ? 1.0 + step : 1.0));
  }
  return values;
}

bool write_quiet_nights() {
  fmt::print("<!-- table: quiet nights -->\n");
  fmt::print("| noise | series | open on any night | 95 % |\n| --- | ---: | ---: | --- |\n");
  bool kept = true;
  for (const NoiseFamily family : kNoiseFamilies) {
    SeriesFamily source(family, 20261125);
    std::size_t opened = 0;
    for (std::size_t i = 0; i < kSeries; ++i) {
      opened += first_open_night(history_of(source, kNights, 0.0), kFirstLook) ? 1U : 0U;
    }
    fmt::print("| {} | {} | {} | {} |\n",
               name_of(family),
               kSeries,
               opened,
               interval_text(opened, kSeries));
    kept = kept && opened <= kSeries / 100;
  }
  return kept;
}

/// Returns the nights from a step until it is open: the median and the 90th percentile. A dash: it
/// is not by the last night.
std::string delay_text(NoiseFamily family, std::size_t at, double step) {
  constexpr std::size_t kNever = 10'000;
  SeriesFamily source(family, 20261127 + 2 * at);
  std::vector<std::size_t> delays;
  for (std::size_t i = 0; i < kStepped; ++i) {
    const auto night = first_open_night(history_of(source, at, step), at, at);
    delays.push_back(night ? *night + 1 - at : kNever);
  }
  std::sort(delays.begin(), delays.end());
  const auto text = [&](double share) {
    const std::size_t delay = delays[static_cast<std::size_t>(share * kStepped)];
    return delay == kNever ? std::string("–") : std::to_string(delay);
  };
  return text(0.5) + ", " + text(0.9);
}

void write_step_nights() {
  fmt::print("\n<!-- table: nights to a step -->\n");
  fmt::print("| noise | runs before | 3 % | 5 % | 10 % | 20 % |\n");
  fmt::print("| --- | ---: | ---: | ---: | ---: | ---: |\n");
  for (const NoiseFamily family : kNoiseFamilies) {
    for (const std::size_t at : {std::size_t{20}, std::size_t{60}}) {
      fmt::print("| {} | {} |", name_of(family), at);
      for (const double step : {0.03, 0.05, 0.1, 0.2}) {
        fmt::print(" {} |", delay_text(family, at, step));
      }
      fmt::print("\n");
    }
  }
}

}  // namespace
}  // namespace plumb

int main() {
  const bool kept = plumb::write_quiet_nights();
  plumb::write_step_nights();
  return kept ? 0 : 1;
}
