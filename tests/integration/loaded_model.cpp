// SPDX-License-Identifier: Apache-2.0
// A shared library: one model behind two C functions, executed as the worker's load executes it, so
// that another load generator can drive the same program.
#include <fmt/core.h>

#include <cstdint>
#include <filesystem>
#include <memory>

#include "harness/measure/sampler.hpp"
#include "runners/engine/model_executor.hpp"
#include "runners/onednn/library_loader.hpp"

namespace {

struct LoadedModel {
  std::unique_ptr<plumb::Backend> backend;
  std::unique_ptr<plumb::ModelExecutor> executor;
};

}  // namespace

/// Prepares a model for one sample at a time; null, and why on stderr, if it cannot be. `samples`
/// gets the number of samples in the data set. The caller never gives it back: the process ends.
extern "C" void* plumb_open(const char* module,
                            const char* library,
                            const char* path,
                            std::uint64_t* samples) {
  try {
    auto model = std::make_unique<LoadedModel>();
    model->backend = plumb::onednn::load_backend({library}, module);
    plumb::LoadRequest::Bucket bucket;
    bucket.model.path = std::filesystem::absolute(path);
    bucket.model.name = bucket.model.path.stem();
    model->executor = std::make_unique<plumb::ModelExecutor>(
        bucket.model.name, plumb::DataSetSize{.most = plumb::LoadRequest{}.data_set, .least = 2});
    const plumb::Outcome outcome =
        model->executor->add(*model->backend, bucket, 1, plumb::steady_clock());
    if (outcome.ok()) {
      *samples = model->executor->samples();
      return model.release();
    }
    fmt::print(stderr, "{}: {}\n", to_text(outcome.kind), outcome.reason);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
  }
  return nullptr;
}

/// Executes one sample; not 0 if its answer is wrong.
extern "C" int plumb_execute(void* model, std::uint64_t index) {
  try {
    const plumb::QuerySample sample{1, index};
    plumb::SampleResponse response{1, {}};
    static_cast<LoadedModel*>(model)->executor->execute({0, 1, {&sample, 1}}, {&response, 1});
    return 0;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 1;
  }
}
