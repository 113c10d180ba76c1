// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/cli/suite_run.hpp"
#include "harness/suite/suite.hpp"

namespace plumb {

/// Reads the suite that the options name, or makes one of the models that they name. What the
/// options override is applied. Throws Error{kUser} if they name neither, or what they name cannot
/// be read.
[[nodiscard]] ResolvedSuite requested_suite(const RunOptions& options);

}  // namespace plumb
