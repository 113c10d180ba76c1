// SPDX-License-Identifier: Apache-2.0
// loaded_model MODULE LIBRARY MODEL.onnx: executes a model as the worker's load executes it, so
// that another load generator can drive the same program. Writes the number of samples of its data
// set as a line; then, for each 8 bytes that it reads, a sample's index in native order, one byte:
// 0, or 1 for a wrong answer.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>

#include "harness/base/error.hpp"
#include "harness/measure/sampler.hpp"
#include "runners/engine/bench/batch_runner.hpp"
#include "runners/onednn/library_loader.hpp"

namespace {

char execute(plumb::engine::BatchRunner& executor, std::uint64_t index) {
  try {
    const plumb::loadgen::SystemUnderTest::Sample sample{1, index};
    plumb::loadgen::Completions::Response response{1, {}};
    executor.execute({0, 1, {&sample, 1}}, {&response, 1});
    return 0;
  } catch (const plumb::Error& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 1;
  }
}

}  // namespace

int main(int argc, const char* const* argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: {} MODULE LIBRARY MODEL.onnx\n", argv[0]);
    return 2;
  }
  try {
    const auto backend = plumb::onednn::load_backend({argv[2]}, argv[1]);
    plumb::worker::LoadRequest::Bucket bucket;
    bucket.model.path = std::filesystem::absolute(argv[3]);
    bucket.model.name = bucket.model.path.stem();
    plumb::engine::BatchRunner executor(bucket.model.name, plumb::worker::LoadRequest{}.data_set);
    const plumb::results::Outcome outcome =
        executor.add(*backend, bucket, 1, plumb::measure::steady_clock());
    if (!outcome.ok()) {
      fmt::print(stderr, "{}: {}\n", to_text(outcome.kind), outcome.reason);
      return 1;
    }
    fmt::print("{}\n", executor.samples());
    std::fflush(stdout);
    std::uint64_t index = 0;
    while (::read(STDIN_FILENO, &index, sizeof index) == static_cast<ssize_t>(sizeof index)) {
      const char answer = execute(executor, index);
      if (::write(STDOUT_FILENO, &answer, 1) != 1) {
        return 1;
      }
    }
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 1;
  }
  return 0;
}
