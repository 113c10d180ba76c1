// SPDX-License-Identifier: Apache-2.0
//
// What the harness itself costs: a sample inside the worker, and a layer around it, with a program
// that does nothing. Limits: < 1 µs a sample, < 200 µs a layer. Prints both; exits 1 if one is
// missed.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/engine/service/backend_service.hpp"

namespace plumb::engine {
namespace {

class EmptyProgram final : public worker::Program {
 public:
  [[nodiscard]] worker::Program::Facts facts() const override { return {}; }
  void bind(std::size_t /*slot*/,
            std::span<const model::Tensor> /*operands*/,
            bool /*shared*/) override {}
  void enqueue(std::size_t slot) override { last_ = slot; }
  void synchronize() override { last_ = 0; }
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t /*slot*/) override { return {}; }

 private:
  std::size_t last_ = 0;
};

class EmptyBackend final : public worker::Backend {
 public:
  [[nodiscard]] results::Environment describe() const override { return {}; }
  [[nodiscard]] results::Outcome supports(const model::LayerKey& /*key*/) const override {
    return {};
  }
  [[nodiscard]] std::vector<worker::Variant> variants(
      const model::LayerKey& /*key*/) const override {
    return {{"impl=empty", true, false}};
  }
  [[nodiscard]] worker::Backend::Prepared prepare(const model::LayerKey& /*key*/,
                                                  const std::string& /*variant*/) override {
    return {std::make_unique<EmptyProgram>(), {}};
  }
};

worker::WorkerService::MeasureRequest request_for(std::size_t samples) {
  model::LayerSpec spec;
  spec.op = "eltwise";
  spec.inputs = {model::TensorType{model::DataType::kF32, {1}, false, {}}};
  spec.outputs = {model::TensorType{model::DataType::kF32, {1}, false, {}}};
  spec.attributes["fn"] = std::string("relu");
  spec.attributes["parameters"] = std::vector<double>{};
  worker::WorkerService::MeasureRequest request;
  request.key = model::to_key(spec);
  request.verify = false;  // the reference is the layer's cost, not the harness's
  request.disturbed_attempts = 1;
  request.sampling.warm_up_at_most = Seconds(0.0);
  request.sampling.samples_at_least = samples;
  request.sampling.samples_at_most = samples;
  request.sampling.sample_at_least = Seconds(0.0);
  return request;
}

/// Returns the median wall time of one measured layer with so many samples.
Seconds wall_of(BackendService& service, std::size_t samples) {
  const worker::WorkerService::MeasureRequest request = request_for(samples);
  std::vector<Seconds> walls;
  for (int i = 0; i < 51; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    service.measure(
        request,
        [](const results::Measurement& row) { benchmark::DoNotOptimize(row.summary.n); },
        [] {});
    walls.emplace_back(std::chrono::steady_clock::now() - begin);
  }
  return measure::summarize(walls).median;
}

int print_overhead() {
  constexpr std::size_t kFew = 1;
  constexpr std::size_t kMany = 2001;
  EmptyBackend backend;
  BackendService service(backend);
  // The log line of each key would be measured too: it goes nowhere.
  if (std::freopen("/dev/null", "w", stderr) == nullptr) {
    return 1;
  }
  static_cast<void>(wall_of(service, kFew));
  const Seconds few = wall_of(service, kFew);
  const Seconds many = wall_of(service, kMany);
  const double sample = (many - few).count() / static_cast<double>(kMany - kFew);
  fmt::print("harness overhead: {:.3f} us a sample (limit 1), {:.1f} us a layer (limit 200)\n",
             sample * 1e6,
             few.count() * 1e6);
  return sample < 1e-6 && few.count() < 200e-6 ? 0 : 1;
}

}  // namespace
}  // namespace plumb::engine

int main() {
  return plumb::engine::print_overhead();
}
