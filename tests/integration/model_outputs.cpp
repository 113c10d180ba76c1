// SPDX-License-Identifier: Apache-2.0
// model_outputs MODULE LIBRARY MODEL.onnx FOLDER MODE…: executes a model once through a oneDNN
// library as the worker does, in each mode, and writes its inputs, dense, as input_0… into the
// folder and its outputs, in the graph's type of that mode, as output_0… into the mode's folder
// below it.
#include <fmt/core.h>

#include <filesystem>
#include <fstream>

#include "harness/measure/sampler.hpp"
#include "runners/engine/ready_model.hpp"
#include "runners/onednn/library_loader.hpp"

namespace {

void write_all(const std::filesystem::path& folder,
               const char* name,
               const std::vector<plumb::Tensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::ofstream out(folder / fmt::format("{}_{}", name, i), std::ios::binary);
    const char* const data = tensors[i].as<char>();
    out.write(data, static_cast<std::streamsize>(tensors[i].data.size()));
  }
}

}  // namespace

int main(int argc, const char* const* argv) {
  if (argc < 6) {
    fmt::print(stderr, "usage: {} MODULE LIBRARY MODEL.onnx FOLDER MODE…\n", argv[0]);
    return 2;
  }
  try {
    const auto backend = plumb::onednn::load_backend({argv[2]}, argv[1]);
    plumb::ExecuteRequest request;
    request.path = std::filesystem::absolute(argv[3]);
    request.name = request.path.filename();
    const std::filesystem::path folder = argv[4];
    plumb::RequestedModel model(request);
    model.fill();
    write_all(folder, "input", model.inputs());
    for (int i = 5; i < argc; ++i) {
      const plumb::ExecutionMode mode = plumb::execution_mode_from(argv[i]);
      plumb::ReadyModel ready = prepare_mode(*backend, model, {mode, {}});
      if (ready.outcome.ok()) {
        make_ready(model, plumb::steady_clock(), ready);
      }
      if (!ready.outcome.ok()) {
        fmt::print(
            stderr, "{}: {}: {}\n", argv[i], to_text(ready.outcome.kind), ready.outcome.reason);
        return 1;
      }
      std::filesystem::create_directories(folder / argv[i]);
      write_all(folder / argv[i], "output", ready.outputs);
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
