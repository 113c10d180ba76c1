// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/rewrite/gradient/training_graph.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Writes the output of `plumb model show --training`: what each phase of a step computes, and
/// which layers have no gradient.
void write_training(const rewrite::TrainingGraph& training,
                    rewrite::Loss loss,
                    OutputMode style,
                    std::ostream& out);

}  // namespace plumb::reporting
