// SPDX-License-Identifier: Apache-2.0
// model_outputs MODULE LIBRARY MODEL.onnx FOLDER: executes a model once through a oneDNN library as
// the worker does, and writes its inputs and outputs, dense, as input_0, output_0… into the folder.
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
  if (argc != 5) {
    fmt::print(stderr, "usage: {} MODULE LIBRARY MODEL.onnx FOLDER\n", argv[0]);
    return 2;
  }
  try {
    const auto backend = plumb::onednn::load_backend({argv[2]}, argv[1]);
    plumb::ExecuteRequest request;
    request.path = std::filesystem::absolute(argv[3]);
    request.name = request.path.filename();
    const plumb::ReadyModel ready = make_ready(*backend, request, plumb::steady_clock());
    if (!ready.outcome.ok()) {
      fmt::print(stderr, "{}: {}\n", to_text(ready.outcome.kind), ready.outcome.reason);
      return 1;
    }
    write_all(argv[4], "input", ready.inputs);
    write_all(argv[4], "output", ready.outputs);
    fmt::print("{{\"reorders\": {}, \"memory_bytes\": {}, \"activation_bytes\": {}}}\n",
               ready.prepared.reorders,
               ready.prepared.memory.value,
               ready.prepared.program->facts().workspace.value);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 1;
  }
  return 0;
}
