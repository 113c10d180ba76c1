// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/ready_model.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/onnx_file.hpp"
#include "harness/model/onnx_reader.hpp"
#include "harness/model/weights.hpp"
#include "runners/engine/constant_folding.hpp"
#include "runners/engine/model_inputs.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb {
namespace {

onnx::ModelProto read(const ExecuteRequest& request) {
  if (request.model.empty()) {
    return load_onnx_file(request.path);
  }
  onnx::ModelProto model;
  if (!model.ParseFromString(request.model)) {
    throw Error(
        Error::Kind::kUser,
        fmt::format(
            "the {} bytes of model '{}' are no ONNX model", request.model.size(), request.name));
  }
  return model;
}

/// Collects what the program takes; says which value has no elements, if one has none.
Outcome collect_operands(const Graph& graph,
                         const std::vector<ValueId>& wanted,
                         const std::map<ValueId, Tensor>& values,
                         std::vector<Tensor>& operands) {
  for (const ValueId id : wanted) {
    const auto found = values.find(id);
    if (found == values.end()) {
      return {Outcome::Kind::kUnsupported,
              fmt::format("the elements of constant '{}' are not known: the model gives none and "
                          "nothing here computes them",
                          graph.values[id].name)};
    }
    operands.push_back(found->second);
  }
  return {};
}

Outcome checked(const Graph& graph, const std::vector<Tensor>& outputs) {
  for (std::size_t index = 0; index < outputs.size(); ++index) {
    const Tensor& output = outputs[index];
    if (!is_floating(output.type.dtype)) {
      continue;
    }
    const ElementReader at = reader_of(output.type.dtype);
    const auto count = static_cast<std::size_t>(element_count(output.type));
    for (std::size_t element = 0; element < count; ++element) {
      const double number = at(output.data.data(), element);
      if (!std::isfinite(number)) {
        return {Outcome::Kind::kWrongResult,
                fmt::format("element {} of output '{}' is {}",
                            element,
                            graph.values[graph.outputs[index]].name,
                            number)};
      }
    }
  }
  return {};
}

}  // namespace

ReadyModel make_ready(Backend& backend, const ExecuteRequest& request, const Clock& clock) {
  ReadyModel ready;
  onnx::ModelProto model = read(request);
  const ReadOptions options{request.batch, request.dims};
  const std::filesystem::path folder =
      request.model.empty() ? request.path.parent_path() : std::filesystem::path();
  const Graph graph = graph_of(model, options, folder);
  ready.prepared = backend.prepare_model(graph);
  ready.outcome = ready.prepared.outcome;
  if (!ready.outcome.ok()) {
    return ready;
  }
  ready.inputs = model_inputs(graph, request.seed);
  fill_weights(model, request.seed);
  std::map<ValueId, Tensor> values = load_model(model, options, folder).constants;
  model.Clear();
  fold_constants(graph, values);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    values.insert_or_assign(graph.inputs[i], ready.inputs[i]);
  }
  std::vector<Tensor> operands;
  ready.outcome = collect_operands(graph, ready.prepared.operands, values, operands);
  if (!ready.outcome.ok()) {
    return ready;
  }
  Program& program = *ready.prepared.program;
  program.bind(0, operands, false);
  const Seconds begin = clock();
  program.enqueue(0);
  program.synchronize();
  ready.first_call = clock() - begin;
  ready.outputs = program.outputs(0);
  ready.outcome = checked(graph, ready.outputs);
  return ready;
}

}  // namespace plumb
