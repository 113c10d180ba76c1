// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/requested_model.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/model/onnx/weights.hpp"
#include "harness/rewrite/types/typed_graph.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
namespace {

/// Returns how many values an integer input may take. It is the extent of the smallest axis that
/// the input indexes.
std::int64_t index_bound(const model::Graph& graph, model::ValueId input) {
  std::optional<std::int64_t> bound;
  for (const model::Layer& layer : graph.layers) {
    const bool indexes = layer.spec.op == "gather" && layer.inputs.size() > 1 &&
                         layer.inputs[1] == input && layer.spec.has_input(0);
    if (indexes) {
      const auto axis = static_cast<std::size_t>(layer.spec.integer("axis"));
      const std::int64_t extent = layer.spec.inputs[0]->dims.at(axis);
      bound = std::min(bound.value_or(extent), extent);
    }
  }
  return std::max<std::int64_t>(bound.value_or(2), 1);
}

}  // namespace

std::vector<model::Tensor> model_inputs(const model::Graph& graph, std::uint64_t seed) {
  std::vector<model::Tensor> inputs;
  for (const model::ValueId id : graph.inputs) {
    const model::Value& value = graph.values[id];
    model::WeightStream random = model::stream_of(seed, "input:" + value.name);
    std::vector<double> numbers(static_cast<std::size_t>(element_count(value.type)));
    if (model::is_floating(value.type.dtype)) {
      std::generate(numbers.begin(), numbers.end(), [&] { return random.uniform() * 2.0 - 1.0; });
    } else {
      const auto bound = static_cast<std::uint64_t>(index_bound(graph, id));
      std::generate(numbers.begin(), numbers.end(), [&] {
        return static_cast<double>(random.next() % bound);
      });
    }
    inputs.push_back(tensor_from(value.type, numbers));
  }
  return inputs;
}

namespace {

/// Draws one class for each row, or for few rows where the classes are rare.
void draw_classes(const rewrite::LossLayers::ClassAxis& axis,
                  model::WeightStream& random,
                  std::vector<double>& numbers) {
  for (std::int64_t outer = 0; outer < axis.outer; ++outer) {
    for (std::int64_t inner = 0; inner < axis.inner; ++inner) {
      if (axis.rarity > 1 && random.next() % static_cast<std::uint64_t>(axis.rarity) != 0) {
        continue;
      }
      const auto drawn =
          static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(axis.classes));
      numbers.at(static_cast<std::size_t>((outer * axis.classes + drawn) * axis.inner + inner)) =
          1.0;
    }
  }
}

/// Writer of the inputs that a step has beside the model's.
class StepInputs {
 public:
  StepInputs(const rewrite::TrainingGraph& training,
             std::uint64_t seed,
             std::map<model::ValueId, model::Tensor>& values)
      : training_(training), seed_(seed), values_(values) {}

  void add_target(model::ValueId id) {
    add(id, [&](model::WeightStream& random, std::vector<double>& numbers) {
      if (training_.classes) {
        draw_classes(*training_.classes, random, numbers);
      } else {
        std::generate(numbers.begin(), numbers.end(), [&] { return random.uniform() * 2.0 - 1.0; });
      }
    });
  }

  void add_mask(model::ValueId id) {
    add(id, [](model::WeightStream& random, std::vector<double>& numbers) {
      // Half of the elements, whatever the model says: its ratio changes no time.
      std::generate(
          numbers.begin(), numbers.end(), [&] { return random.next() % 2 == 0 ? 2.0 : 0.0; });
    });
  }

  void add_constant(model::ValueId id, double number) {
    add(id, [&](model::WeightStream& /*random*/, std::vector<double>& numbers) {
      std::fill(numbers.begin(), numbers.end(), number);
    });
  }

 private:
  template <typename Fill>
  void add(model::ValueId id, const Fill& fill) {
    const model::TensorType& type = training_.graph.values.at(id).type;
    std::vector<double> numbers(static_cast<std::size_t>(element_count(type)), 0.0);
    model::WeightStream random = model::stream_of(seed_, training_.graph.values[id].name);
    fill(random, numbers);
    values_.insert_or_assign(id, tensor_from(type, numbers));
  }

  const rewrite::TrainingGraph& training_;
  std::uint64_t seed_;
  std::map<model::ValueId, model::Tensor>& values_;
};

}  // namespace

void add_step_inputs(const rewrite::TrainingStep& step,
                     std::uint64_t seed,
                     std::map<model::ValueId, model::Tensor>& values) {
  const rewrite::TrainingGraph& training = step.training;
  StepInputs inputs(training, seed, values);
  inputs.add_target(training.target);
  for (const model::ValueId mask : training.masks) {
    inputs.add_mask(mask);
  }
  for (const model::ValueId state : step.states) {
    inputs.add_constant(state, 0.0);
  }
  if (training.loss_scale) {
    inputs.add_constant(*training.loss_scale, rewrite::kFirstLossScale);
  }
  for (model::ValueId id = 0; id < training.graph.values.size(); ++id) {
    const model::Value& value = training.graph.values[id];
    if (value.scalar && !value.producer && !values.contains(id)) {
      inputs.add_constant(id, *value.scalar);
    }
  }
  for (const rewrite::TrainingGraph::RepeatedInput& each : training.repeated) {
    if (each.first == training.target) {
      inputs.add_target(each.input);
    } else if (std::find(training.masks.begin(), training.masks.end(), each.first) !=
               training.masks.end()) {
      inputs.add_mask(each.input);
    }
  }
}

namespace {

onnx::ModelProto read(const worker::ExecuteRequest& request) {
  if (request.model.empty()) {
    return model::load_onnx_file(request.path);
  }
  onnx::ModelProto model;
  if (!model.ParseFromString(request.model)) {
    throw Error(Error::Kind::kUser,
                fmt::format("the {} bytes of model '{}' are not an ONNX model",
                            request.model.size(),
                            request.name));
  }
  return model;
}

std::filesystem::path folder_of(const worker::ExecuteRequest& request) {
  return request.model.empty() ? request.path.parent_path() : std::filesystem::path();
}

/// Makes the step of training that a request asks for.
std::optional<rewrite::TrainingStep> step_of(const worker::ExecuteRequest& request,
                                             const model::Graph& graph) {
  if (request.training.empty()) {
    return std::nullopt;
  }
  const std::optional<rewrite::TrainingStep::Choice> choice =
      rewrite::parse_step_choice(request.training);
  if (!choice) {
    throw Error(Error::Kind::kUser,
                fmt::format("training by '{}' is asked for: there are {}",
                            request.training.substr(0, 64),
                            rewrite::step_choice_words()));
  }
  return rewrite::training_step(graph, *choice);
}

model::ReadOptions options_of(const worker::ExecuteRequest& request) {
  return {.batch = request.batch, .dims = request.dims, .rebatch = request.rebatch};
}

}  // namespace

RequestedModel::RequestedModel(const worker::ExecuteRequest& request)
    : request_(request), file_(std::make_unique<onnx::ModelProto>(read(request))) {
  request_.model.clear();
  request_.model.shrink_to_fit();
  file_graph_ = model::read_graph(*file_, options_of(request), folder_of(request));
  step_ = step_of(request, file_graph_);
  graph_ = rewrite::typed_graph(step_ ? step_->training.graph : file_graph_, request.dtype);
}

RequestedModel::~RequestedModel() = default;

void RequestedModel::fill() {
  PLUMB_CHECK(file_ != nullptr);
  inputs_ = model_inputs(file_graph_, request_.seed);
  model::fill_weights(*file_, request_.seed);
  values_ = load_model(*file_, options_of(request_), folder_of(request_)).constants;
  file_.reset();  // Clear() would keep the memory of its weights
  fold_constants(file_graph_, values_);
  for (std::size_t i = 0; i < file_graph_.inputs.size(); ++i) {
    values_.insert_or_assign(file_graph_.inputs[i], inputs_[i]);
  }
  if (step_) {
    add_step_inputs(*step_, request_.seed, values_);
    fold_constants(step_->training.graph, values_);
    fill_micro_batches();
  }
}

void RequestedModel::fill_micro_batches() {
  std::uint64_t seed = request_.seed;
  std::vector<model::Tensor> drawn;
  for (const rewrite::TrainingGraph::RepeatedInput& each : step_->training.repeated) {
    const auto own = std::find(file_graph_.inputs.begin(), file_graph_.inputs.end(), each.first);
    if (own == file_graph_.inputs.begin()) {  // of the next micro-batch
      drawn = make_inputs(++seed);
    }
    if (own != file_graph_.inputs.end()) {
      values_.insert_or_assign(
          each.input, drawn.at(static_cast<std::size_t>(own - file_graph_.inputs.begin())));
    }
  }
}

std::vector<model::Tensor> RequestedModel::make_inputs(std::uint64_t seed) const {
  return model_inputs(file_graph_, seed);
}

Deviation RequestedModel::deviation(std::span<const model::Tensor> outputs,
                                    std::span<const model::Tensor> expected,
                                    std::span<const double> rounding,
                                    double most) const {
  return step_ ? worst_distance(distances_by_kind(outputs, expected, step_->kinds), rounding, most)
               : Deviation{largest_difference(outputs, expected), most};
}

Deviation RequestedModel::deviation_across_types(std::span<const model::Tensor> outputs,
                                                 std::span<const model::Tensor> expected,
                                                 double most) const {
  if (!step_) {
    return {largest_difference(outputs, expected), most};
  }
  constexpr std::size_t kWeights = 1;
  const std::span kinds(step_->kinds);
  const auto count = static_cast<std::size_t>(
      std::count_if(kinds.begin(), kinds.end(), [](std::size_t kind) { return kind <= kWeights; }));
  return worst_distance(
      distances_by_kind(outputs.first(count), expected.first(count), kinds.first(count)), {}, most);
}

results::Outcome RequestedModel::judge(const Deviation& compared, std::string_view others) const {
  if (!compared.is_beyond()) {
    return {};
  }
  return {results::Outcome::Kind::kWrongResult,
          fmt::format("an output differs from {} by {:.3g} of its {}; up to {:.3g} counts as "
                      "rounding",
                      others,
                      compared.error,
                      step_ ? "norm" : "largest magnitude",
                      compared.most)};
}

results::Outcome RequestedModel::operands(const rewrite::FusedGraph& graph,
                                          const std::vector<model::ValueId>& wanted,
                                          std::vector<model::Tensor>& operands,
                                          Magnitudes magnitudes) const {
  std::map<model::ValueId, model::Tensor> folded;
  fold_constants(graph.graph, values_, folded);  // what the mode adds
  for (const rewrite::FusedGraph::Folding& folding : graph.foldings) {
    if (!fold_channels(folding, graph.graph, values_, folded)) {
      return unknown_value(graph.graph, folding.weights);
    }
  }
  for (const rewrite::FusedGraph::ActivationGrid& grid : graph.quantization.activations) {
    for (const model::ValueId id : grid.of) {
      if (const auto given = values_.find(id); given != values_.end()) {
        magnitudes.try_emplace(id, compute_magnitude(given->second));
      }
    }
  }
  const auto find = [&](model::ValueId id) -> const model::Tensor* {
    const auto made = folded.find(id);
    const auto given = values_.find(id);
    return made != folded.end() ? &made->second : given != values_.end() ? &given->second : nullptr;
  };
  if (const auto missing = quantize_constants(graph, find, magnitudes, folded)) {
    return unknown_value(graph.graph, *missing);
  }
  operands.reserve(operands.size() + wanted.size());
  for (const model::ValueId id : wanted) {
    const model::TensorType& type = graph.graph.values[id].type;
    const auto made = folded.find(id);
    if (made != folded.end() && made->second.type.dtype == type.dtype) {
      operands.push_back(std::move(made->second));
      continue;
    }
    const model::Tensor* const found = find(id);
    if (found == nullptr) {
      return unknown_value(graph.graph, id);
    }
    operands.push_back(found->type.dtype == type.dtype ? *found
                                                       : tensor_from(type, read_numbers(*found)));
  }
  return {};
}

}  // namespace plumb::engine
