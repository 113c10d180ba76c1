// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/requested_model.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/onnx/onnx_file.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/model/onnx/weights.hpp"
#include "harness/rewrite/types/typed_graph.hpp"
#include "runners/engine/exec/channel_folding.hpp"
#include "runners/engine/exec/constant_folding.hpp"
#include "runners/engine/exec/model_inputs.hpp"
#include "runners/engine/exec/step_inputs.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
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
  const std::optional<rewrite::StepChoice> choice = rewrite::parse_step_choice(request.training);
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
  inputs_ = model_inputs(file_graph_, request_.seed);
  model::fill_weights(*file_, request_.seed);
  values_ = load_model(*file_, options_of(request_), folder_of(request_)).constants;
  file_->Clear();
  fold_constants(file_graph_, values_);
  for (std::size_t i = 0; i < file_graph_.inputs.size(); ++i) {
    values_.insert_or_assign(file_graph_.inputs[i], inputs_[i]);
  }
  if (step_) {
    fold_constants(step_->training.graph, values_);
    add_step_inputs(*step_, request_.seed, values_);
    fill_micro_batches();
  }
}

void RequestedModel::fill_micro_batches() {
  std::uint64_t seed = request_.seed;
  std::vector<model::Tensor> drawn;
  for (const rewrite::RepeatedInput& each : step_->training.repeated) {
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

results::Outcome RequestedModel::operands(const rewrite::FusedGraph& graph,
                                          const std::vector<model::ValueId>& wanted,
                                          std::vector<model::Tensor>& operands,
                                          Magnitudes magnitudes) const {
  std::map<model::ValueId, model::Tensor> folded;
  fold_constants(graph.graph, values_, folded);  // what the mode adds
  for (const rewrite::ChannelFolding& folding : graph.foldings) {
    if (!fold_channels(folding, graph.graph, values_, folded)) {
      return unknown_value(graph.graph, folding.weights);
    }
  }
  for (const rewrite::ActivationGrid& grid : graph.quantization.activations) {
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
