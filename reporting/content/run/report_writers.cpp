// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/report_writers.hpp"

#include <fmt/format.h>

#include "reporting/document/quantity_text.hpp"

namespace plumb::reporting {

std::string with_interval(Seconds time, const measure::Interval& interval) {
  if (time.count() <= 0) {
    return time_text(time);
  }
  const double half = (interval.high - interval.low).count() / 2.0 / time.count();
  return fmt::format("{} ± {:.1f} %", time_text(time), half * 100.0);
}

std::string prediction_error_text(const analysis::WhatIfResult& result) {
  if (!result.prediction_error) {
    return "–";
  }
  const analysis::PredictionError& error = *result.prediction_error;
  return fmt::format(
      "{:.1f} % ({:.1f} to {:.1f})", 100.0 * error.share, 100.0 * error.low, 100.0 * error.high);
}

}  // namespace plumb::reporting
