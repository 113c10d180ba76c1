// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/analysis/compare/rounds/aa_study.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Contents of a report on the noise of a stack that was compared with itself.
struct NoiseReport {
  std::string suite;
  std::string stack;
  std::string environment;
  results::RunId first;
  results::RunId second;
  std::size_t calibrations = 0;  ///< that went into it, this one included
  AaStudy noise;
};

}  // namespace plumb::analysis
