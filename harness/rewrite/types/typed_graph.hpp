// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/model/graph/graph.hpp"

namespace plumb::rewrite {

/// Name of the type of a model's instance that with_tf32() made.
inline constexpr std::string_view kTf32 = "tf32";

/// Returns whether a graph has a form in a type of a suite: a step of training has none in f64 and
/// int8.
[[nodiscard]] bool has_form(const model::Graph& graph, std::string_view type);

/// Returns a model's graph in a type of a suite: "f32" as it is, another floating type by
/// with_precision(), "tf32" by with_tf32(), "int8" by int8_graph(). A step of training becomes
/// bf16 and f16 by mixed_precision_step(). Throws Error{kUser} for any other text, and where there
/// is no such form.
[[nodiscard]] model::Graph typed_graph(const model::Graph& graph, std::string_view type);

/// By what f16 multiplies the loss's gradient, where no scale adapts. A power of two, so that
/// scaling is exact.
inline constexpr double kLossScale = 1024.0;

/// Returns a step of training whose forward and backward pass have a type of few digits in place of
/// f32, with master weights (Micikevicius et al., Mixed Precision Training, ICLR 2018). `type` is
/// kBf16 or kF16.
///
/// Weights, states and updates stay f32, as do the loss, statistics of normalisations and their
/// parameters. Each weight is cast where it is first read, and each gradient before its update.
/// With f16 the loss's gradient is multiplied by kLossScale, and gradients of weights are divided
/// by it, unless the step has a scale that adapts. Values of the step keep their numbers; the
/// casts' follow.
[[nodiscard]] model::Graph mixed_precision_step(const model::Graph& step, model::DataType type);

}  // namespace plumb::rewrite
