// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/types/typed_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/training_layers.hpp"
#include "harness/rewrite/gradient/layer_writer.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/rewrite/quantized_graph.hpp"
#include "harness/rewrite/rewrite.hpp"

namespace plumb::rewrite {

bool has_form(const model::Graph& graph, std::string_view type) {
  return (type != kInt8 && type != to_text(model::DataType::kF64)) || !is_step(graph);
}

namespace {

model::Graph typed_step(const model::Graph& step, std::string_view type) {
  const std::optional<model::DataType> floating = model::parse_data_type(type);
  if (floating == model::DataType::kBf16 || floating == model::DataType::kF16) {
    return mixed_precision_step(step, *floating);
  }
  if (floating == model::DataType::kF32) {
    return step;
  }
  throw Error(
      Error::Kind::kUser,
      fmt::format("a step of training is executed in f32, tf32, bf16 or f16, not in '{}'", type));
}

}  // namespace

model::Graph typed_graph(const model::Graph& graph, std::string_view type) {
  if (is_step(graph) && type != kTf32) {
    return typed_step(graph, type);
  }
  if (type == kInt8) {
    return int8_graph(graph).graph;
  }
  if (type == kTf32) {
    return with_tf32(graph);
  }
  const std::optional<model::DataType> floating = model::parse_data_type(type);
  if (!floating || !model::is_floating(*floating)) {
    throw Error(Error::Kind::kUser,
                fmt::format("dtype '{}' is not one of f64, f32, tf32, f16, bf16, int8", type));
  }
  return *floating == model::DataType::kF32 ? graph : with_precision(graph, *floating);
}

namespace {

using model::DataType;
using model::Layer;
using model::LayerId;
using model::ValueId;

/// Operands and results of a layer that are f32 whatever its data are: parameters, statistics, and
/// rows that are summed up.
struct WideOperands {
  std::string_view op;
  std::size_t first_input;  ///< and all that follow
  std::size_t first_output;
};

constexpr std::array kWide{WideOperands{"batch_norm", 1, 1},
                           WideOperands{"batch_norm_training", 1, 1},
                           WideOperands{"batch_norm_backward", 2, 1},
                           WideOperands{"layer_norm_backward", 2, 1},
                           WideOperands{"gather_backward", 0, 0}};

constexpr std::string_view kLossScaleOp = "loss_scale";

const WideOperands* find_wide(const Layer& layer) {
  const auto* found = std::find_if(kWide.begin(), kWide.end(), [&](const WideOperands& each) {
    return each.op == layer.spec.op;
  });
  return found == kWide.end() ? nullptr : found;
}

/// Returns the loss scale of a step, if it adapts.
std::optional<ValueId> find_loss_scale(const model::Graph& step) {
  const auto found = std::find_if(step.layers.begin(), step.layers.end(), [](const Layer& layer) {
    return layer.spec.op == kLossScaleOp;
  });
  return found == step.layers.end() ? std::nullopt : found->inputs.front();
}

/// Writer of a step in two types.
class MixedStep {
 public:
  MixedStep(const model::Graph& step, DataType type)
      : step_(step), scale_(find_loss_scale(step)), type_(type), result_(step) {
    result_.layers.clear();
  }

  model::Graph run() {
    choose_types();
    for (LayerId id = 0; id < step_.layers.size(); ++id) {
      append(step_.layers[id], id);
    }
    return std::move(result_);
  }

 private:
  /// Returns whether a layer has these operands or results in f32.
  [[nodiscard]] bool is_wide(LayerId id, std::size_t index, bool output) const {
    const Layer& layer = step_.layers[id];
    if (model::is_update(layer.spec) || layer.of_loss || looks_up(layer) ||
        reads_statistic(layer) || scales_loss(layer)) {
      return true;
    }
    const WideOperands* wide = find_wide(layer);
    return wide != nullptr && index >= (output ? wide->first_output : wide->first_input);
  }

  /// Returns whether a layer takes rows of a weight, of which a cast would read all.
  [[nodiscard]] bool looks_up(const Layer& layer) const {
    return layer.spec.op == "gather" && layer.inputs.front() &&
           !step_.values[*layer.inputs.front()].producer;
  }

  /// Returns whether a layer makes a number of a batch's statistic, for the running one.
  [[nodiscard]] bool reads_statistic(const Layer& layer) const {
    const auto producer = layer.spec.op == "eltwise" && layer.inputs.front()
                              ? step_.values[*layer.inputs.front()].producer
                              : std::nullopt;
    const Layer* const norm = producer ? &step_.layers[*producer] : nullptr;
    return norm != nullptr && norm->spec.op == "batch_norm_training" &&
           norm->outputs.front() != *layer.inputs.front();
  }

  /// Returns whether a layer computes with the loss scale that adapts, or with the next one.
  [[nodiscard]] bool scales_loss(const Layer& layer) const {
    return layer.spec.op == kLossScaleOp ||
           std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](const auto& input) {
             const auto producer = input ? step_.values[*input].producer : std::nullopt;
             return input && (input == scale_ ||
                              (producer && step_.layers[*producer].spec.op == kLossScaleOp));
           });
  }

  /// Returns by what a constant scale multiplies the loss's gradient.
  [[nodiscard]] double constant_scale() const {
    return type_ == DataType::kF16 && !scale_ ? kLossScale : 1.0;
  }

  /// Returns whether a value is a weight, a state or a constant: no layer of a step makes it.
  [[nodiscard]] bool is_given(ValueId value) const {
    const auto producer = step_.values[value].producer;
    return !producer || step_.layers[*producer].role == Layer::Role::kFolded;
  }

  void choose_types() {
    std::set<ValueId> wide;  // weights, states and constants
    for (LayerId id = 0; id < step_.layers.size(); ++id) {
      const Layer& layer = step_.layers[id];
      for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
        if (is_wide(id, i, true)) {
          wide.insert(layer.outputs[i]);
        }
      }
      for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
        const std::optional<ValueId>& input = layer.inputs[i];
        if (input && layer.role != Layer::Role::kFolded && is_wide(id, i, false) &&
            is_given(*input)) {
          wide.insert(*input);
        }
      }
    }
    for (ValueId id = 0; id < result_.values.size(); ++id) {
      model::TensorType& type = result_.values[id].type;
      if (type.dtype == DataType::kF32 && !wide.contains(id)) {
        type.dtype = type_;
      }
    }
  }

  void append(Layer layer, LayerId id) {
    if (layer.role == Layer::Role::kCompute || layer.role == Layer::Role::kView) {
      retype(layer, id);
    } else {
      follow_values(layer);
    }
    for (const ValueId output : layer.outputs) {
      result_.values[output].producer = result_.layers.size();
    }
    result_.layers.push_back(std::move(layer));
  }

  /// Gives a layer that makes constants the types of its values.
  void follow_values(Layer& layer) const {
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      if (layer.inputs[i]) {
        layer.spec.inputs[i].value().dtype = result_.values[*layer.inputs[i]].type.dtype;
      }
    }
    for (std::size_t i = 0; i < layer.spec.outputs.size() && i < layer.outputs.size(); ++i) {
      layer.spec.outputs[i].dtype = result_.values[layer.outputs[i]].type.dtype;
    }
  }

  /// Gives a layer operands of its types. A view has the type of what it renames.
  void retype(Layer& layer, LayerId id) {
    const bool view = layer.role == Layer::Role::kView;
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      if (!layer.inputs[i]) {
        continue;
      }
      ValueId& input = *layer.inputs[i];
      if (!view) {
        const bool wide = is_wide(id, i, false);
        input = is_gradient(layer, i) ? unscaled(input) : cast(input, wide, layer.of_loss);
      }
      layer.spec.inputs[i].value().dtype = result_.values[input].type.dtype;
    }
    for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
      DataType& type = result_.values[layer.outputs[i]].type.dtype;
      type = view ? layer.spec.inputs.at(0).value().dtype : type;
      layer.spec.outputs.at(i).dtype = type;
    }
    rekey(layer);
  }

  /// Returns whether an operand is the gradient of the loss that an update reads.
  [[nodiscard]] bool is_gradient(const Layer& layer, std::size_t index) const {
    if (!model::is_update(layer.spec) ||
        index % (model::UpdateShape(layer.spec).states() + 2) != 1) {
      return false;
    }
    const auto producer = step_.values[layer.inputs[index].value()].producer;
    return !producer || !reads_statistic(step_.layers[*producer]);
  }

  /// Returns whether the loss's layers make a value, or what it is a view of.
  [[nodiscard]] bool is_of_loss(ValueId value) const {
    const auto producer_of = [&](ValueId id) {
      return id < step_.values.size() ? step_.values[id].producer : std::nullopt;
    };
    std::optional<LayerId> producer = producer_of(value);
    while (producer && step_.layers[*producer].role == Layer::Role::kView &&
           !step_.layers[*producer].of_loss) {
      producer = producer_of(step_.layers[*producer].inputs.front().value());
    }
    return producer && step_.layers[*producer].of_loss;
  }

  /// Returns a value in the type that its reader has. What the loss makes is scaled first, unless
  /// the reader takes it `as_it_is`.
  ValueId cast(ValueId value, bool wide, bool as_it_is) {
    const DataType now = result_.values[value].type.dtype;
    const DataType wanted = wide ? DataType::kF32 : type_;
    const double scale = !as_it_is && is_of_loss(value) ? constant_scale() : 1.0;
    if ((now == wanted && scale == 1.0) || (now != DataType::kF32 && now != type_)) {
      return value;
    }
    const auto [found, is_new] = casts_.try_emplace(std::pair(value, wanted));
    if (is_new) {
      LayerWriter writer = writer_at(value);
      const ValueId from = writer.scaled(value, scale);
      found->second =
          now == wanted ? from : writer.layer("cast", {from}, writer.dims(value), {}, wanted);
    }
    return found->second;
  }

  /// Returns a weight's gradient in f32, as large as the loss's is.
  ValueId unscaled(ValueId gradient) {
    const ValueId wide = cast(gradient, true, true);
    const double scale = is_of_loss(gradient) ? 1.0 : constant_scale();
    return writer_at(gradient).scaled(wide, 1.0 / scale);
  }

  LayerWriter writer_at(ValueId value) {
    LayerWriter writer(result_);
    writer.name(result_.values[value].name);
    return writer;
  }

  const model::Graph& step_;
  std::optional<ValueId> scale_;  // of the loss, if it adapts
  DataType type_;
  model::Graph result_;
  std::map<std::pair<ValueId, DataType>, ValueId> casts_;  // by value and type
};

}  // namespace

model::Graph mixed_precision_step(const model::Graph& step, model::DataType type) {
  PLUMB_CHECK(is_step(step) && (type == DataType::kBf16 || type == DataType::kF16));
  return MixedStep(step, type).run();
}

namespace {

void retype(model::TensorType& type, model::DataType to) {
  if (type.dtype == model::DataType::kF32) {
    type.dtype = to;
  }
}

void retype(model::Layer& layer, model::DataType to) {
  for (std::optional<model::TensorType>& input : layer.spec.inputs) {
    if (input) {
      retype(*input, to);
    }
  }
  for (model::TensorType& output : layer.spec.outputs) {
    retype(output, to);
  }
  rekey(layer);
}

bool computes_f32(const model::LayerSpec& spec) {
  return spec.has_input(0) && spec.inputs[0]->dtype == model::DataType::kF32 &&
         spec.outputs.front().dtype == model::DataType::kF32;
}

}  // namespace

void rekey(model::Layer& layer) {
  try {
    layer.key = model::to_key(layer.spec);
    layer.cost = model::compute_cost(layer.spec);
  } catch (const Error& error) {
    layer.role = model::Layer::Role::kUnsupported;
    layer.reason = error.what();
    layer.key = {};
    layer.cost = {};
  }
}

model::Graph with_precision(const model::Graph& graph, model::DataType type) {
  PLUMB_CHECK(model::is_floating(type));
  model::Graph result = graph;
  for (model::ValueId id = 0; id < result.values.size(); ++id) {
    model::Value& value = result.values[id];
    const Bytes before =
        value.type.dtype == model::DataType::kString ? Bytes{} : model::byte_size(value.type);
    retype(value.type, type);
    if (value.type.constant && !value.producer && value.type.dtype != model::DataType::kString) {
      result.weight_bytes += Bytes{model::byte_size(value.type).value - before.value};
    }
  }
  for (model::Layer& layer : result.layers) {
    if (layer.role == model::Layer::Role::kCompute || layer.role == model::Layer::Role::kView) {
      retype(layer, type);
    }
  }
  return result;
}

model::LayerSpec with_tf32(model::LayerSpec spec) {
  if (spec.math == model::LayerSpec::MathClass::kStrict && model::is_floating_product(spec) &&
      computes_f32(spec)) {
    spec.math = model::LayerSpec::MathClass::kTf32;
  }
  return spec;
}

model::Graph with_tf32(const model::Graph& graph) {
  model::Graph result = graph;
  for (model::Layer& layer : result.layers) {
    if (layer.role == model::Layer::Role::kCompute) {
      layer.spec = with_tf32(std::move(layer.spec));
      rekey(layer);
    }
  }
  return result;
}

}  // namespace plumb::rewrite
