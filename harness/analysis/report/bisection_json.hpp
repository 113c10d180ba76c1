// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analysis/report/bisection.hpp"
#include "harness/analysis/report/run_json.hpp"

namespace plumb::analysis {

/// Returns a search as `plumb bisect --json` prints it.
[[nodiscard]] Json bisection_document(const Bisection& bisection);

/// Returns a step of a search, as documents and the records of searches have it.
[[nodiscard]] Json step_json(const BisectionStep& step, const Bisection& bisection);

/// Reads back a step of a search along the same line. Throws Error{kUser} that names
/// the field at fault.
[[nodiscard]] BisectionStep step_from_json(const nlohmann::json& document);

}  // namespace plumb::analysis
