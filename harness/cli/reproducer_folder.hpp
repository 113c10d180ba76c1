// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/results/environment.hpp"
#include "harness/worker/reproducer.hpp"
#include "harness/worker/worker_process.hpp"

namespace plumb {

/// Makes the folder that a reproducer goes into. Throws Error{kUser} if something is in it and it
/// may not be overwritten, or if it is no folder; Error{kEnvironment} if it cannot be made.
void prepare_reproducer_folder(const std::filesystem::path& folder, bool overwrite);

/// Picks what a reproducer is made of: the rows of a variant that was asked for, else the library's
/// choice and, if it is another, the library's fastest (where the library has one at all). Throws
/// Error{kUser} if none of them has a time.
[[nodiscard]] std::vector<Measurement> rows_to_reproduce(const std::vector<Measurement>& rows);

/// Asks `worker` for the program of the rows and writes it, with README.md, row.json and api.log,
/// into the folder; for the log another worker of the same stack repeats the calls with the
/// library's logging on.
void write_reproducer(const std::filesystem::path& folder,
                      const ReproducerRequest& request,
                      const Environment& environment,
                      WorkerProcess& worker,
                      const WorkerOptions& options);

}  // namespace plumb
