// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/model/key/layer_cost.hpp"
#include "harness/model/key/layer_spec.hpp"

namespace plumb::model {

using ValueId = std::size_t;  ///< index into Graph::values
using LayerId = std::size_t;  ///< index into Graph::layers

/// One tensor that flows along an edge, or a weight.
struct Value {
  std::string name;
  TensorType type;                  ///< as far as it is known
  std::optional<LayerId> producer;  ///< absent: a graph input or a weight
  std::optional<double> scalar;  ///< of a constant with one element: its value, where it is known
  bool type_known = true;        ///< false: nothing says `type.dtype`, or no layer key can have it
  bool shape_known = true;       ///< false: some extent of `type.dims` is open
};

/// One node of the model, as written, with its shapes.
struct Layer {
  /// Roles of a node in an execution of the model.
  enum class Role {
    kCompute,  ///< is measured
    kView,     ///< renames its input's bytes (Reshape, Flatten, Identity…): no work in any sane
               ///< execution
    kFolded,   ///< acts on weights only: done once, before the run
    kUnsupported,  ///< cannot be keyed; `reason` says why. Makes bounds incomplete
  };

  std::string name;
  std::string onnx_op;  ///< as in the file, with the domain if not the default one
  Role role = Role::kCompute;
  std::string reason;  ///< of kUnsupported
  LayerSpec spec;      ///< valid for kCompute and kView, and for kFolded unless its op is empty
  LayerKey key;        ///< to_key(spec); empty for kUnsupported and kFolded
  LayerCost cost;
  std::vector<std::optional<ValueId>>
      inputs;  ///< first spec.inputs.size() match spec.inputs one to one
  std::vector<ValueId> outputs;
  bool of_loss = false;  ///< of a step of training: computes its loss, or the loss's gradient by
                         ///< the model's result
};

/// Model with every shape known: a DAG of layers in topological order.
struct Graph {
  /// Memory that executing a graph's layers in their order needs at least.
  ///
  /// A view shares the bytes of what it views, and an update writes over its operands. Any other
  /// result has bytes of its own, from its layer to its last reader. What a library adds, such as
  /// blocked layouts, copies in them and workspaces, is not in it.
  struct Memory {
    Bytes inputs;     ///< of a step of training: also weights and states
    Bytes constants;  ///< that layers read, as the graph has them
    Bytes peak;       ///< the most bytes of results at once

    [[nodiscard]] Bytes total() const { return inputs + constants + peak; }
  };

  /// Totals of a graph, for `plumb model show`.
  struct Totals {
    std::size_t layers = 0;
    std::size_t folded_layers = 0;           ///< of them: act on weights only, before the run
    std::size_t unique_layers = 0;           ///< distinct keys of kCompute and kView layers
    std::int64_t macs = 0;                   ///< at most 2^63 − 1, see `macs_saturated`
    bool macs_saturated = false;             ///< the sum is larger than `macs`
    std::map<std::string, std::size_t> ops;  ///< by Layer::onnx_op
  };

  std::string name;
  std::int64_t opset = 0;
  std::vector<Value> values;
  std::vector<Layer> layers;  ///< as written less Constant nodes and shape arithmetic; topological
  std::vector<ValueId> inputs;  ///< without weights
  std::vector<ValueId> outputs;
  std::int64_t parameters = 0;  ///< elements of all weights
  Bytes weight_bytes;
  std::vector<std::string> notes{};  ///< what the reader chose or changed in place of the file
};
[[nodiscard]] Graph::Totals totals(const Graph& graph);

/// Returns for each layer the layers that produce its inputs, sorted and without duplicates.
[[nodiscard]] std::vector<std::vector<LayerId>> predecessors(const Graph& graph);
[[nodiscard]] Graph::Memory compute_memory(const Graph& graph);

/// Returns for each value the one whose bytes it shares: itself, or what views and updates made it
/// of.
[[nodiscard]] std::vector<ValueId> shared_bytes(const Graph& graph);

}  // namespace plumb::model
