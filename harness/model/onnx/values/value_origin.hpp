// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/model/onnx/values/node_view.hpp"

namespace plumb::model {

/// Returns whether a domain is ONNX's own.
[[nodiscard]] bool is_default_domain(const std::string& domain);

/// Returns whether a node has a subgraph (If, Loop, Scan, SequenceMap…).
[[nodiscard]] bool has_subgraph(const onnx::NodeProto& node);

/// Returns the origin of a node's outputs, given its inputs. Data take precedence over shapes, and
/// shapes over weights. However, a large floating-point weight makes shape arithmetic a fold (a
/// position embedding gathered by a range).
[[nodiscard]] ModelValue::Origin find_origin(const NodeView& node);

/// Returns whether all inputs that are given have a type with every extent known.
[[nodiscard]] bool all_inputs_typed(const NodeView& node);

/// Returns whether a node's result may be needed to infer shapes or to read attributes. Such a
/// result does not depend on data. It is computed from shapes, made of integers, or made of few
/// numbers.
[[nodiscard]] bool is_worth_evaluating(const NodeView& node);

/// Returns whether a node of constants computes axes, shapes or indices rather than weights. Such
/// results are integers of rank 0 or 1.
[[nodiscard]] bool is_index_arithmetic(const NodeView& node);

}  // namespace plumb::model
