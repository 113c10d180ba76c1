// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "harness/results/measurement.hpp"
#include "runners/onednn/exec/execution_plan.hpp"

namespace plumb::onednn {

/// One variant to be reproduced.
struct ReproducedVariant {
  results::Measurement row;  ///< with its time
  ExecutionPlan plan;
  std::vector<std::pair<std::size_t, double>> expected;  ///< elements of the first output, by place
};

/// Contents from which a reproducer is made.
struct ReproducerSource {
  model::LayerSpec spec;
  std::string key;
  std::string library;  ///< name and version, for people
  std::uint64_t seed = 1;
  std::vector<std::pair<std::string, std::string>> variables;  ///< that tune the library
  std::vector<ReproducedVariant> variants;
};

/// Writes main.cpp of a reproducer. Throws Error{kUser} for a plan that needs more than the
/// library's primitives on plain operands, or for a primitive that is not covered
/// (primitive_text()).
[[nodiscard]] std::string reproducer_source(const ReproducerSource& source);

}  // namespace plumb::onednn
