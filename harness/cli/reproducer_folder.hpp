// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/results/environment.hpp"
#include "harness/worker/client/worker_process.hpp"
#include "harness/worker/protocol/reproducer.hpp"

namespace plumb::cli {

/// Makes the folder for a reproducer. Throws Error{kUser} if it is no folder, or if it has files
/// and may not be overwritten. Throws Error{kEnvironment} if it cannot be made.
void prepare_reproducer_folder(const std::filesystem::path& folder, bool overwrite);

/// Picks the rows to reproduce: the library's choice and, if that is another, the library's fastest
/// variant. Built-in kernels are taken only where the library has no variant. Of a variant that was
/// asked for there is only one row. Throws Error{kUser} if no row has a time.
[[nodiscard]] std::vector<results::Measurement> rows_to_reproduce(
    const std::vector<results::Measurement>& rows);

/// Asks `worker` for the program of the rows, and writes it into the folder with README.md and
/// row.json. For api.log another worker of the same stack repeats the calls with the library's
/// logging on.
void write_reproducer(const std::filesystem::path& folder,
                      const worker::ReproducerRequest& request,
                      const results::Environment& environment,
                      worker::WorkerProcess& worker,
                      const worker::WorkerOptions& options);

}  // namespace plumb::cli
