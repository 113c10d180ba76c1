// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "harness/model/graph.hpp"
#include "harness/model/tensor.hpp"
#include "harness/results/outcome.hpp"
#include "harness/rewrite/fused_graph.hpp"
#include "harness/worker/execute_request.hpp"
#include "runners/engine/quantized_constants.hpp"

namespace onnx {
class ModelProto;
}

namespace plumb {

/// Model that a request names. Its graph is read at once, weights and inputs when they are asked
/// for.
class RequestedModel {
 public:
  /// Reads the model; no weights yet. Throws Error{kUser} for a model that is not usable.
  explicit RequestedModel(const ExecuteRequest& request);
  ~RequestedModel();
  RequestedModel(const RequestedModel&) = delete;
  RequestedModel& operator=(const RequestedModel&) = delete;
  RequestedModel(RequestedModel&&) = delete;
  RequestedModel& operator=(RequestedModel&&) = delete;

  /// The graph in the type that the request asks for.
  [[nodiscard]] const Graph& graph() const { return graph_; }

  /// Fills weights without data by the request's seed, as `plumb model export --weights` does,
  /// makes inputs, and computes what depends on weights alone. May throw std::bad_alloc.
  void fill();

  /// Returns the inputs as the model's file has them, in its order.
  [[nodiscard]] const std::vector<Tensor>& inputs() const { return inputs_; }

  /// Makes other inputs than those of the request's seed, likewise.
  [[nodiscard]] std::vector<Tensor> inputs_of(std::uint64_t seed) const;

  /// Collects inputs and constants in the types and order in which a program wants them. `graph` is
  /// the model's own or was made of it; what scales of activations are made of, where it has some,
  /// is in `magnitudes` unless it is an input. Not ok: the value without elements, by name.
  [[nodiscard]] Outcome operands(const FusedGraph& graph,
                                 const std::vector<ValueId>& wanted,
                                 std::vector<Tensor>& operands,
                                 Magnitudes magnitudes = {}) const;

 private:
  ExecuteRequest request_;
  std::unique_ptr<onnx::ModelProto> file_;
  Graph file_graph_;  // as written
  Graph graph_;
  std::map<ValueId, Tensor> values_;  // constants and inputs, in the file's types
  std::vector<Tensor> inputs_;
};

}  // namespace plumb
