// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/importers/imported_results.hpp"
#include "harness/results/run.hpp"

namespace plumb {

/// Names under which results of another harness are stored.
struct ImportedName {
  std::string format;                ///< "google-benchmark", "nvbench": the backend of the run
  std::string suite;                 ///< letters, digits, '.', '_', '-'; part of every key
  std::string version;               ///< of what was measured: a fact; may be empty
  std::string system;                ///< the machine; empty: what the files say
  std::optional<Timestamp> started;  ///< absent: what the first file says
};

/// A run that is ready to be stored, once its header has an id.
struct ImportedRun {
  RunHeader header;
  std::vector<Measurement> rows;
};

/// Makes one run of result files, each written by one process. Pure.
///
/// A row is one benchmark in one process, with the key `external:SUITE:NAME` (docs/adr/0006).
/// `files` names the files in messages. `now` is the start of the run if neither `name` nor the
/// first file gives one. Throws Error{kUser} for a bad suite name, for files of unlike machines,
/// and for a benchmark that is missing in a file or has fewer than two samples in all.
[[nodiscard]] ImportedRun make_imported_run(const ImportedName& name,
                                            std::span<const ImportedResults> processes,
                                            std::span<const std::string> files,
                                            Timestamp now);

}  // namespace plumb
