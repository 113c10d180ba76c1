// SPDX-License-Identifier: Apache-2.0
// model_outputs MODULE LIBRARY MODEL.onnx FOLDER MODE…: executes a model once through a oneDNN
// library as the worker does, in each mode, and writes its inputs, dense, as input_0… into the
// folder and its outputs, in the graph's type of that mode, as output_0… into the mode's folder
// below it. A mode that begins with "reference:" is computed layer by layer by the float64
// reference: what its graph means, whatever the CPU has.
#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/measure/sampler.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/exec/reference_comparison.hpp"
#include "runners/onednn/library_loader.hpp"

namespace {

void write_all(const std::filesystem::path& folder,
               const char* name,
               const std::vector<plumb::model::Tensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::ofstream out(folder / fmt::format("{}_{}", name, i), std::ios::binary);
    const char* const data = tensors[i].as<char>();
    out.write(data, static_cast<std::streamsize>(tensors[i].data.size()));
  }
}

/// Makes the graph of a mode and computes it by the reference; scales of activations come from an
/// execution on the backend.
std::vector<plumb::model::Tensor> reference_outputs(plumb::worker::Backend& backend,
                                                    const plumb::engine::RequestedModel& model,
                                                    const plumb::results::ExecutionMode& mode) {
  const plumb::engine::ModeGraph plan =
      plumb::engine::graph_of_mode(model.graph(), {mode, {}, {}}, backend);
  plumb::engine::Magnitudes magnitudes;
  const auto require = [](const plumb::results::Outcome& outcome) {
    if (!outcome.ok()) {
      throw plumb::Error(plumb::Error::Kind::kEnvironment, outcome.reason);
    }
  };
  std::vector<plumb::model::Tensor> operands;
  if (plan.observed) {
    const plumb::worker::Backend::PreparedModel observed =
        backend.prepare_model(plan.observed->graph, {});
    require(observed.outcome);
    require(model.operands(*plan.observed, observed.operands, operands));
    observed.program->bind(0, operands, false);
    observed.program->enqueue(0);
    observed.program->synchronize();
    const std::vector<plumb::model::Tensor> values = observed.program->outputs(0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      magnitudes[plan.observed->graph.outputs[i]] = plumb::engine::compute_magnitude(values[i]);
    }
  }
  const plumb::model::Graph& graph = plan.fused.graph;
  const auto is_given = [&](plumb::model::ValueId id) {
    const auto producer = graph.values[id].producer;
    return !producer || graph.layers[*producer].role == plumb::model::Layer::Role::kFolded;
  };
  std::set<plumb::model::ValueId> wanted;
  for (const plumb::model::Layer& layer : graph.layers) {
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      if (layer.role != plumb::model::Layer::Role::kFolded && layer.spec.has_input(i) &&
          is_given(*layer.inputs[i])) {
        wanted.insert(*layer.inputs[i]);
      }
    }
  }
  const std::vector<plumb::model::ValueId> ids(wanted.begin(), wanted.end());
  operands.clear();
  require(model.operands(plan.fused, ids, operands, magnitudes));
  std::map<plumb::model::ValueId, plumb::model::Tensor> values;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    values[ids[i]] = std::move(operands[i]);
  }
  std::vector<plumb::model::Tensor> outputs;
  require(plumb::engine::reference_model_outputs(graph, values, outputs));
  return outputs;
}

}  // namespace

int main(int argc, const char* const* argv) {
  if (argc < 6) {
    fmt::print(stderr, "usage: {} MODULE LIBRARY MODEL.onnx FOLDER MODE…\n", argv[0]);
    return 2;
  }
  try {
    const auto backend = plumb::onednn::load_backend({argv[2]}, argv[1]);
    plumb::worker::ExecuteRequest request;
    request.path = std::filesystem::absolute(argv[3]);
    request.name = request.path.filename();
    const std::filesystem::path folder = argv[4];
    plumb::engine::RequestedModel model(request);
    model.fill();
    write_all(folder, "input", model.inputs());
    constexpr std::string_view kReference = "reference:";
    for (int i = 5; i < argc; ++i) {
      const std::string_view name = argv[i];
      std::filesystem::create_directories(folder / name);
      if (name.substr(0, kReference.size()) == kReference) {
        const auto mode = plumb::results::execution_mode_from(name.substr(kReference.size()));
        write_all(folder / name, "output", reference_outputs(*backend, model, mode));
        fmt::print("{{\"mode\": \"{}\"}}\n", name);
        continue;
      }
      const plumb::results::ExecutionMode mode = plumb::results::execution_mode_from(name);
      plumb::engine::ReadyModel ready = plumb::engine::prepare_mode(*backend, model, {mode, {}});
      if (ready.outcome.ok()) {
        plumb::engine::make_ready(model, plumb::measure::steady_clock(), ready);
      }
      if (ready.outcome.kind == plumb::results::Outcome::Kind::kUnsupported) {
        fmt::print(stderr, "{}: {}\n", name, ready.outcome.reason);
        fmt::print("{{\"mode\": \"{}\", \"unsupported\": true}}\n", name);
        continue;
      }
      if (!ready.outcome.ok()) {
        fmt::print(
            stderr, "{}: {}: {}\n", argv[i], to_text(ready.outcome.kind), ready.outcome.reason);
        return 1;
      }
      write_all(folder / name, "output", ready.outputs);
      fmt::print(
          "{{\"mode\": \"{}\", \"layers\": {}, \"reorders\": {}, \"memory_bytes\": {}, "
          "\"activation_bytes\": {}}}\n",
          argv[i],
          ready.plan.fused.graph.layers.size(),
          ready.prepared.reorders,
          ready.prepared.memory.value,
          ready.prepared.program->facts().workspace.value);
    }
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 1;
  }
  return 0;
}
