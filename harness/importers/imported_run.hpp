// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/importers/imported_results.hpp"
#include "harness/importers/key_mapping.hpp"
#include "harness/results/run.hpp"

namespace plumb::importers {

/// Names under which results of another harness are stored.
struct ImportedName {
  std::string format;                ///< "google-benchmark", "nvbench": the backend of the run
  std::string suite;                 ///< letters, digits, '.', '_', '-'; part of every key
  std::string version;               ///< of what was measured: a fact; may be empty
  std::string system;                ///< the machine; empty: what the files say
  std::optional<Timestamp> started;  ///< absent: what the first file says
  KeyMapping keys = {};              ///< layers that benchmarks are
};

/// A run that is ready to be stored, once its header has an id.
struct ImportedRun {
  results::RunHeader header;
  std::vector<results::Measurement> rows;
};

/// Makes one run of result files, each written by one process. Pure.
///
/// A row is one benchmark in one process, with the key `external:SUITE:NAME` (docs/adr/0006) or the
/// layer key that the mapping gives. Names with the same layer key are variants of it.
/// `files` names the files in messages. `now` is the start of the run if neither `name` nor the
/// first file gives one. The files may hold different benchmarks. Throws Error{kUser} for a bad
/// suite name, for files of unlike machines, for a date that is not a time, and if every benchmark
/// was skipped.
[[nodiscard]] ImportedRun make_imported_run(const ImportedName& name,
                                            std::span<const ImportedResults> processes,
                                            std::span<const std::string> files,
                                            Timestamp now);

}  // namespace plumb::importers
