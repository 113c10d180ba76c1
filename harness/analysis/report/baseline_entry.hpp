// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "harness/results/run.hpp"

namespace plumb::analysis {

/// One acceptance of a run as a baseline.
struct BaselineEntry {
  std::string name;  ///< the tag that names it
  results::RunHeader run;
  bool current = false;               ///< the run still has the tag
  std::optional<Timestamp> accepted;  ///< absent: tagged without a record
  std::string who;                    ///< empty: not known
  std::string reason;
  results::RunId previous;  ///< the baseline before it; empty: none
};

}  // namespace plumb::analysis
