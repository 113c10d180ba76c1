// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/cli/suite_run.hpp"
#include "harness/suite/suite.hpp"

namespace plumb {

/// Reads the suite that a run asks for, or makes one of the models asked for, and applies what the
/// options override. Throws Error{kUser} where they name neither, or say what cannot be read.
[[nodiscard]] ResolvedSuite requested_suite(const RunOptions& options);

}  // namespace plumb
