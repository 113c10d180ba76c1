// SPDX-License-Identifier: Apache-2.0
// onnxruntime_overhead_bench LIBRARY [MODEL…]: what the worker adds to ONNX Runtime. Times models
// in turns as the worker does and in a bare loop of RunWithBinding, both in this process, each
// with sessions of its own that are made anew 21 times. Prints the geometric mean of the ratios of
// their medians, with its 95 % interval. Limit: 1 % for executions of 5 ms and more. Exits 1 if the
// mean misses it.
#include <fmt/core.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/stats/statistical_tests.hpp"
#include "runners/engine/bench/layer_timing.hpp"
#include "runners/engine/exec/ready_model.hpp"
#include "runners/onnxruntime/nodes/onnx_model.hpp"
#include "runners/onnxruntime/onnxruntime_backend.hpp"
#include "runners/onnxruntime/session.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb::onnxruntime {
namespace {

constexpr int kRepetitions = 21;  // with new sessions
constexpr int kBlocks = 6;        // of each side, in turns
constexpr Seconds kBlock{0.15};
constexpr double kLimit = 1.01;
constexpr Seconds kShort{0.005};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A session with everything bound, and nothing around it.
class BareLoop {
 public:
  BareLoop(const Library& library, const OnnxModel& model, std::span<const model::Tensor> operands)
      : run_(library.find<api::RunWithBinding>()),
        session_(library, model.with_weights(operands), {}),
        binding_(library.make<api::CreateIoBinding, api::ReleaseIoBinding, OrtIoBinding>(
            session_.handle())) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!model.operands[i].type.constant) {
        SessionProgram::Tensor& input = tensors_.emplace_back(library, model.operands[i].type);
        std::copy(operands[i].data.begin(), operands[i].data.end(), input.bytes().begin());
        library.call<api::BindInput>(binding_.get(), model.operands[i].name.c_str(), input.value());
      }
    }
    for (const OnnxModel::Value& output : model.outputs) {
      library.call<api::BindOutput>(
          binding_.get(), output.name.c_str(), tensors_.emplace_back(library, output.type).value());
    }
  }

  double time_block() {
    std::vector<double> times;
    const auto end = std::chrono::steady_clock::now() + kBlock;
    while (times.empty() || std::chrono::steady_clock::now() < end) {
      const auto begin = std::chrono::steady_clock::now();
      PLUMB_CHECK(run_(session_.handle(), nullptr, binding_.get()) == nullptr);
      times.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return median(times);
  }

 private:
  api::RunWithBinding::Function run_;
  Session session_;
  std::vector<SessionProgram::Tensor> tensors_;
  Owned<OrtIoBinding> binding_;
};

double time_worker_block(worker::Program& program) {
  engine::LayerTiming::HotRegion region(program);
  measure::SamplingPlan plan;
  plan.budget = kBlock;
  plan.warm_up_at_most = plan.warm_up_at_least;
  return measure::summarize(measure::sample(region, plan, measure::steady_clock()).seconds)
      .median.count();
}

bool compare(worker::Backend& backend, const Library& library, const std::string& name) {
  worker::ExecuteRequest request;
  request.name = name;
  request.model = zoo::find(name)->build(1, {}).SerializeAsString();
  engine::RequestedModel model(request);
  model.fill();
  std::vector<double> ratios;
  std::vector<double> bare_times;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    engine::ReadyModel ready = engine::prepare_mode(backend, model, {{.fusion = true}, {}, {}});
    PLUMB_CHECK(ready.outcome.ok());
    engine::make_ready(model, measure::steady_clock(), ready);
    std::vector<model::ValueId> values;
    const OnnxModel written = write_model(ready.plan.fused.graph, values);
    std::vector<model::Tensor> operands;
    PLUMB_CHECK(model.operands(ready.plan.fused, values, operands).ok());
    BareLoop bare(library, written, operands);
    operands.clear();
    std::vector<double> of_worker;
    std::vector<double> of_bare;
    for (int block = 0; block < kBlocks; ++block) {
      for (const bool worker : {block % 2 == 0, block % 2 != 0}) {
        if (worker) {
          of_worker.push_back(time_worker_block(*ready.prepared.program));
        } else {
          of_bare.push_back(bare.time_block());
        }
      }
    }
    ratios.push_back(median(of_worker) / median(of_bare));
    bare_times.push_back(median(of_bare));
  }
  const stats::GeometricMean ratio = stats::geometric_mean(ratios).value();
  const bool counts = median(bare_times) >= kShort.count();
  fmt::print("{:20} bare {:.3f} ms  worker ÷ bare {:.4f} [{:.4f}, {:.4f}]{}\n",
             name,
             median(bare_times) * 1e3,
             ratio.mean,
             ratio.low.value(),
             ratio.high.value(),
             counts ? "" : "  (below 5 ms: no limit)");
  return !counts || ratio.mean <= kLimit;
}

}  // namespace
}  // namespace plumb::onnxruntime

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: onnxruntime_overhead_bench LIBRARY [MODEL…]\n");
    return 2;
  }
  std::vector<std::string> models(argv + 2, argv + argc);
  if (models.empty()) {
    models = {"resnet18-v1", "resnet50-v1", "squeezenet1.1"};
  }
  const auto backend = plumb::onnxruntime::make_onnxruntime_backend({argv[1]}, 1);
  const plumb::onnxruntime::Library library({argv[1]}, 1);
  bool kept = true;
  for (const std::string& model : models) {
    kept = plumb::onnxruntime::compare(*backend, library, model) && kept;
  }
  return kept ? 0 : 1;
}
