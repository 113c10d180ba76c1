// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/harness_overhead.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "harness/measure/sample_summary.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/engine/bench/program_region.hpp"

namespace plumb::engine {
namespace {

class EmptyProgram final : public worker::Program {
 public:
  [[nodiscard]] worker::ProgramFacts facts() const override { return {}; }
  void bind(std::size_t /*slot*/,
            std::span<const model::Tensor> /*operands*/,
            bool /*shared*/) override {}
  void enqueue(std::size_t slot) override { last_ = slot; }
  void synchronize() override { last_ = 0; }
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t /*slot*/) override { return {}; }

 private:
  std::size_t last_ = 0;
};

Seconds measure_median(measure::TimedRegion& region,
                       std::size_t repetitions,
                       std::size_t samples,
                       const measure::Clock& clock) {
  std::vector<Seconds> whole;
  whole.reserve(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    region.before_sample();
    const Seconds begin = clock();
    region.run(repetitions);
    whole.push_back(clock() - begin);
  }
  return measure::summarize(whole).median;
}

}  // namespace

HarnessOverhead measure_floor(const measure::Clock& clock) {
  constexpr std::size_t kMany = 1024;
  // Called through a pointer to the base class, so that the calls stay virtual.
  const std::unique_ptr<worker::Program> program = std::make_unique<EmptyProgram>();
  HotRegion region(*program);
  static_cast<void>(measure_median(region, kMany, 10, clock));
  const Seconds one = measure_median(region, 1, 1001, clock);
  const Seconds many = measure_median(region, kMany, 101, clock);
  // A sample of r executions costs s + r·e, so that the two medians give both parts.
  HarnessOverhead floor;
  floor.execution = std::max(Seconds(0.0), (many - one) / static_cast<double>(kMany - 1));
  floor.sample = std::max(Seconds(0.0), one - floor.execution);
  return floor;
}

}  // namespace plumb::engine
