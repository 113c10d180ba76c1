// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <deque>
#include <filesystem>
#include <map>
#include <string_view>
#include <unordered_map>

#include "harness/model/graph/graph.hpp"
#include "harness/model/onnx/layers/layer_mapping.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/model/onnx/values/node_view.hpp"

namespace plumb::model {

/// Builder of the Graph of one model. It adds values first, then the nodes in order: infer,
/// evaluate, classify, key. The model must outlive the builder.
class GraphBuilder {
 public:
  GraphBuilder(const onnx::ModelProto& model,
               const ReadOptions& options,
               std::filesystem::path folder);

  /// Builds the graph. Throws Error{kUser} if the model is not usable. Call once.
  [[nodiscard]] Graph build();
  /// Returns the elements of every constant that the built graph's layers read and none produces.
  /// Constants without data are left out. Throws Error{kUser} for data that do not fit their shape.
  [[nodiscard]] std::map<ValueId, Tensor> constants();

 private:
  void read_opsets();
  void read_weights();
  void read_inputs();
  void read_declared_types();
  void mark_used_values();
  void add_node(const onnx::NodeProto& proto);
  void append_layer(const NodeView& node, MappedLayer::Described described);
  void bind_constant(const NodeView& node);
  void count_computed(std::size_t elements);
  void fall_back_on_declared_types(const NodeView& node);
  void finish_outputs();
  void count_parameters();

  [[nodiscard]] NodeView make_view(const onnx::NodeProto& proto);
  [[nodiscard]] NodeView::Value& new_value(const std::string& name);
  [[nodiscard]] NodeView::Value* find_value(std::string_view name);
  [[nodiscard]] ValueId id_of(NodeView::Value& value);
  [[nodiscard]] std::int64_t opset_of(const std::string& domain) const;

  const onnx::ModelProto* model_;
  const ReadOptions* options_;
  std::filesystem::path folder_;
  ReadOptions::Binder binder_;
  std::unordered_map<std::string, std::int64_t> opsets_;
  std::deque<NodeView::Value> values_;  // addresses stay
  std::unordered_map<std::string_view, NodeView::Value*> by_name_;
  std::unordered_map<std::string_view, const onnx::TypeProto*> declared_;
  std::vector<NodeView> folded_;
  std::size_t computed_elements_ = 0;  ///< of constants that were evaluated
  Graph graph_;
};

}  // namespace plumb::model
