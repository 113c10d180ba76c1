// SPDX-License-Identifier: Apache-2.0
// Private to reporting: models at several batches, as text.
#pragma once

#include <iosfwd>
#include <span>

#include "harness/analysis/bounds/model_bounds.hpp"

namespace plumb::reporting {

/// Writes latency and throughput against the batch, with the knee, of models that were executed at
/// three batches or more, and the captured graphs of models. Writes nothing if there are none.
void write_batches(std::span<const analysis::ModelBounds> models, std::ostream& out);

}  // namespace plumb::reporting
