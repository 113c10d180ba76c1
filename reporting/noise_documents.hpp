// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

#include "harness/analyze/noise_calibration.hpp"
#include "reporting/documents.hpp"

namespace plumb {

/// Report of `plumb calibrate`.
struct NoiseReport {
  std::string suite;
  std::string stack;
  std::string environment;
  RunId first;
  RunId second;
  std::size_t calibrations = 0;  ///< that went into it, this one included
  NoiseCalibration noise;
};

/// `plumb calibrate`; the JSON document is also what the store keeps.
void write_noise(const NoiseReport& report, Style style, std::ostream& out);

}  // namespace plumb
