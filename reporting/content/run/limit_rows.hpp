// SPDX-License-Identifier: Apache-2.0
// Private to reporting: what binds a model and its steps, as text.
#pragma once

#include <iosfwd>

#include "harness/analysis/report/run_report.hpp"

namespace plumb::reporting {

/// Writes what binds a model, how its time is spread over the limits, and its slowest steps. Writes
/// nothing of a model without a step that has a time.
void write_limits(const analysis::ModelReport& model, std::ostream& out);

}  // namespace plumb::reporting
