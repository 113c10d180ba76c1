// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>

#include "harness/rewrite/gradient/training_step.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Step of training that `plumb model show --training` describes.
struct ShownStep {
  rewrite::TrainingGraph training;
  std::optional<rewrite::Optimizer::Kind> optimizer;  ///< absent: the weights are not updated
  model::LayerId first_update_layer = 0;              ///< with an optimiser
};

/// Writes what each phase of a step computes, and which layers have no gradient.
void write_training(const ShownStep& step, OutputMode style, std::ostream& out);

}  // namespace plumb::reporting
