// SPDX-License-Identifier: Apache-2.0
// model_latency MODULE LIBRARY MODEL.onnx FOLDER MODE…: makes a model ready in each mode, writes
// its inputs as input_0… into the folder and says "ready"; then executes mode number M N times for
// each line "M N" that it reads, and answers with the seconds of each execution.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "harness/measure/sampler.hpp"
#include "runners/engine/ready_model.hpp"
#include "runners/onednn/library_loader.hpp"

int main(int argc, const char* const* argv) {
  if (argc < 6) {
    fmt::print(stderr, "usage: {} MODULE LIBRARY MODEL.onnx FOLDER MODE…\n", argv[0]);
    return 2;
  }
  try {
    const auto backend = plumb::onednn::load_backend({argv[2]}, argv[1]);
    plumb::ExecuteRequest request;
    request.path = std::filesystem::absolute(argv[3]);
    plumb::RequestedModel model(request);
    model.fill();
    for (std::size_t i = 0; i < model.inputs().size(); ++i) {
      std::ofstream out(std::filesystem::path(argv[4]) / fmt::format("input_{}", i),
                        std::ios::binary);
      const plumb::Tensor& input = model.inputs()[i];
      out.write(input.as<char>(), static_cast<std::streamsize>(input.data.size()));
    }
    const plumb::Clock clock = plumb::steady_clock();
    std::vector<plumb::ReadyModel> modes;
    for (int i = 5; i < argc; ++i) {
      modes.push_back(prepare_mode(*backend, model, {plumb::execution_mode_from(argv[i]), {}}));
      if (modes.back().outcome.ok()) {
        make_ready(model, clock, modes.back());
      }
      if (!modes.back().outcome.ok()) {
        throw std::runtime_error(modes.back().outcome.reason);
      }
    }
    fmt::print("ready\n");
    std::fflush(stdout);
    std::vector<double> seconds;
    for (std::size_t mode = 0, count = 0; std::cin >> mode >> count;) {
      plumb::Program& program = *modes.at(mode).prepared.program;
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
