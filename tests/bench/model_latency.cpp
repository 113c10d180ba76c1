// SPDX-License-Identifier: Apache-2.0
// model_latency BACKEND LIBRARY MODEL.onnx TYPE FOLDER MODE…: makes a model of a type (f32, f16…)
// ready in each mode on oneDNN (BACKEND: our module) or on the GPU (BACKEND: "cuda"), writes its
// inputs and the first mode's outputs as input_0… and output_0… into the folder, their types and
// shapes as the file `operands`, and says "ready"; then executes mode number M N times for each
// line "M N" that it reads, and answers with the seconds of each execution. Modes with best_variant
// take their variants from the layers' times in the newest run of the store PLUMB_STORE. TYPE may
// name an optimiser, such as f32:sgd: then a step of training is executed, and no output written.
// The file `memory` gets a line for each mode: bytes planned, to prepare it, and resident, or -.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/measure/sampler.hpp"
#include "harness/session/work/worker_requests.hpp"
#include "harness/store/store.hpp"
#include "runners/cuda/cuda_backend.hpp"
#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/exec/this_process.hpp"
#include "runners/onednn/library_loader.hpp"

namespace {

/// Backend, and what it refers to.
struct Loaded {
  std::optional<plumb::cuda::CudnnLibrary> library;
  std::optional<plumb::cuda::Driver> driver;
  std::optional<plumb::cuda::Device> device;
  std::unique_ptr<plumb::worker::Backend> backend;
};

Loaded& load(Loaded& loaded, const std::string& backend, const char* library) {
  if (backend != "cuda") {
    loaded.backend = plumb::onednn::load_backend({library}, backend);
    return loaded;
  }
  loaded.library.emplace(std::vector<std::filesystem::path>{library});
  loaded.driver.emplace();
  loaded.device.emplace(*loaded.driver);
  loaded.backend = std::make_unique<plumb::cuda::CudaBackend>(*loaded.library, *loaded.device);
  return loaded;
}

/// Makes the request for a mode; throws if it needs times that the store does not have.
plumb::worker::ModeRequest request_for(const char* name, const plumb::model::Graph& graph) {
  const plumb::results::ExecutionMode mode = plumb::results::execution_mode_from(name);
  if (!mode.best_variant) {
    return {mode, {}, {}};
  }
  const char* url = std::getenv("PLUMB_STORE");
  if (url == nullptr) {
    throw std::runtime_error(
        fmt::format("{}: PLUMB_STORE names no store of measured layers", name));
  }
  const auto store = plumb::store::open_store(url);
  const plumb::results::RunId run = store->find_run("@latest").header.id;
  std::vector<plumb::worker::ModeRequest> requests = plumb::session::mode_requests(
      {{}, graph}, plumb::session::read_result_set(*store, run), {{mode}});
  if (requests.empty()) {
    throw std::runtime_error(
        fmt::format("{}: the newest run in {} has not a time for every layer", name, url));
  }
  return std::move(requests.front());
}

/// Writes tensors and lists them: "input_0 f32 1x3x224x224".
void write(const std::filesystem::path& folder,
           const char* role,
           const std::vector<plumb::model::Tensor>& tensors,
           std::ofstream& list) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = fmt::format("{}_{}", role, i);
    std::ofstream out(folder / name, std::ios::binary);
    out.write(tensors[i].as<char>(), static_cast<std::streamsize>(tensors[i].data.size()));
    const std::string shape = fmt::format("{}", fmt::join(tensors[i].type.dims, "x"));
    list << fmt::format("{} {} {}\n",
                        name,
                        plumb::model::to_text(tensors[i].type.dtype),
                        shape.empty() ? "scalar" : shape);
  }
}

std::string bytes_text(const std::optional<plumb::Bytes>& bytes) {
  return bytes ? fmt::format("{}", bytes->value) : "-";
}

}  // namespace

int main(int argc, const char* const* argv) {
  if (argc < 7) {
    fmt::print(stderr, "usage: {} MODULE|cuda LIBRARY MODEL.onnx TYPE FOLDER MODE…\n", argv[0]);
    return 2;
  }
  plumb::engine::flush_denormals();  // as the worker does, before any thread is started
  try {
    Loaded loaded;
    plumb::worker::Backend& backend = *load(loaded, argv[1], argv[2]).backend;
    plumb::worker::ExecuteRequest request;
    request.path = std::filesystem::absolute(argv[3]);
    const std::string type = argv[4];
    const std::size_t colon = std::min(type.find(':'), type.size());
    request.dtype = type.substr(0, colon);
    request.training = type.substr(std::min(colon + 1, type.size()));
    const std::filesystem::path folder = argv[5];
    plumb::engine::RequestedModel model(request);
    model.fill();
    std::ofstream list(folder / "operands");
    write(folder, "input", model.inputs(), list);
    const plumb::measure::Clock clock = plumb::measure::steady_clock();
    std::vector<plumb::engine::ReadyModel> modes;
    for (int i = 6; i < argc; ++i) {
      modes.push_back(
          plumb::engine::prepare_mode(backend, model, request_for(argv[i], model.graph())));
      if (modes.back().outcome.ok()) {
        plumb::engine::make_ready(model, clock, modes.back());
      }
      if (!modes.back().outcome.ok()) {
        throw std::runtime_error(modes.back().outcome.reason);
      }
    }
    if (request.training.empty()) {
      write(folder, "output", modes.front().outputs, list);
    }
    list.close();
    std::ofstream memory(folder / "memory");
    for (const plumb::engine::ReadyModel& mode : modes) {
      memory << fmt::format("{} {} {}\n",
                            mode.prepared.memory.value,
                            bytes_text(mode.preparation),
                            bytes_text(mode.resident));
    }
    memory.close();
    fmt::print("ready\n");
    std::fflush(stdout);
    std::vector<double> seconds;
    for (std::size_t mode = 0, count = 0; std::cin >> mode >> count;) {
      plumb::worker::Program& program = *modes.at(mode).prepared.program;
      seconds.clear();
      for (std::size_t i = 0; i < count; ++i) {
        const plumb::Seconds begin = clock();
        program.enqueue(0);
        program.synchronize();
        seconds.push_back((clock() - begin).count());
      }
      fmt::print("{}\n", fmt::join(seconds, " "));
      std::fflush(stdout);
    }
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 1;
  }
  return 0;
}
