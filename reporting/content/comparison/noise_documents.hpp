// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

#include "harness/analysis/compare/rounds/aa_study.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb {

/// Report of `plumb calibrate`.
struct NoiseReport {
  std::string suite;
  std::string stack;
  std::string environment;
  RunId first;
  RunId second;
  std::size_t calibrations = 0;  ///< that went into it, this one included
  AaStudy noise;
};

/// Writes the output of `plumb calibrate`. The store keeps its JSON document as well.
void write_noise(const NoiseReport& report, OutputMode style, std::ostream& out);

}  // namespace plumb
