// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/model/node_view.hpp"

namespace plumb {

/// Tells whether a domain is ONNX's own.
[[nodiscard]] bool is_default_domain(const std::string& domain);

/// Tells whether a node carries a graph (If, Loop, Scan, SequenceMap…).
[[nodiscard]] bool has_subgraph(const onnx::NodeProto& node);

/// Says where the outputs of a node come from, given its inputs: data wins over shapes, shapes over
/// weights, but a large floating-point weight makes shape arithmetic a fold (a position embedding
/// gathered by a range).
[[nodiscard]] ModelValue::Origin origin_of(const NodeView& node);

/// Tells whether all inputs given have a type that is known in full.
[[nodiscard]] bool all_inputs_typed(const NodeView& node);

/// Tells whether a node's result may be needed to infer shapes or to read attributes: it does not
/// depend on data, and is made of integers or of few numbers.
[[nodiscard]] bool is_worth_evaluating(const NodeView& node);

/// Tells whether a node of constants computes axes, shapes or indices rather than weights: integers
/// of rank 0 or 1.
[[nodiscard]] bool is_index_arithmetic(const NodeView& node);

}  // namespace plumb
