// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>

#include "harness/results/run.hpp"
#include "reporting/documents.hpp"

namespace plumb {

/// One acceptance of a run as a baseline.
struct BaselineEntry {
  std::string name;  ///< the tag that names it
  RunHeader run;
  bool current = false;               ///< the run still has the tag
  std::optional<Timestamp> accepted;  ///< absent: tagged without a record
  std::string who;                    ///< empty: not known
  std::string reason;
  RunId previous;  ///< that stood there before; empty: none
};

/// `plumb baseline list`
void write_baselines(std::span<const BaselineEntry> entries, Style style, std::ostream& out);

}  // namespace plumb
