// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/cli/foreign_results.hpp"
#include "harness/results/run.hpp"

namespace plumb {

/// Names for foreign results: backend, suite, version, system and start.
struct ForeignName {
  std::string format;                ///< "google-benchmark", "nvbench": the backend of the run
  std::string suite;                 ///< letters, digits, '.', '_', '-'; part of every key
  std::string version;               ///< of what was measured: a fact; may be empty
  std::string system;                ///< the machine; empty: what the files say
  std::optional<Timestamp> started;  ///< absent: what the first file says
};

/// A run ready to be stored.
struct ForeignRun {
  RunHeader header;
  std::vector<Measurement> rows;
};

/// Makes one run of result files, each written by a process of its own (`files` names them in
/// messages). A row is one benchmark in one process, its key `external:SUITE:NAME`
/// (docs/adr/0006). Throws Error{kUser} where files come from unlike machines, where a benchmark is
/// missing in one of them, or has fewer than two samples in all; Error{kUser} for a bad name.
/// `now` is the start of runs whose files don't say. Pure.
[[nodiscard]] ForeignRun make_foreign_run(const ForeignName& name,
                                          std::span<const ForeignResults> processes,
                                          std::span<const std::string> files,
                                          Timestamp now);

}  // namespace plumb
