// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/whatif/what_if_input.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/results/execution.hpp"

namespace plumb::analysis {

/// Prices a model in a mode from hot times of its layers: the sum over the steps of the mode, each
/// by its fastest variant, or without `best_variant` by the library's own choice.
///
/// Absent: a step has no such time, or the mode changes what hot times do not hold (layouts,
/// launches, branches).
[[nodiscard]] std::optional<measure::MeasuredTime> price_mode(const WhatIfInput& input,
                                                              const results::ExecutionMode& mode);

/// Prices a model of f32 by its layers as written, fastest variants, hot: what another type is set
/// against. Absent: `result` says why.
[[nodiscard]] std::optional<PricedPartition> price_in_f32(const WhatIfInput& input,
                                                          WhatIfResult& result);

/// What switches an option of a mode on outside of Plumbline.
struct ModeSetting {
  std::string_view option;     ///< word of the mode: "bf16"
  std::string_view framework;  ///< "oneDNN", "cuDNN", "cuBLASLt", "ONNX Runtime", "PyTorch"
  std::string_view setting;    ///< a call, an option or a variable
};

/// Returns the settings of a mode's options. A framework that has none for an option is not listed.
[[nodiscard]] std::vector<ModeSetting> settings_of(std::string_view execution_mode);

/// Returns the accuracy class of a mode of execution: "same", or the type in which it computes
/// ("bf16", "f16", "tf32", "int8"). "same" keeps the types. It may order sums differently, or use
/// another algorithm. Without a mode it is "same", too.
[[nodiscard]] std::string accuracy_class(std::string_view execution_mode);

}  // namespace plumb::analysis
