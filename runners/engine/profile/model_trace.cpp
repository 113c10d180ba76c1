// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/model_trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/measure/sample_summary.hpp"
#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/exec/requested_model.hpp"

namespace plumb::engine {
namespace {

constexpr std::size_t kMostUntraced = 101;
constexpr Seconds kUntracedBudget{1.0};

void check(const results::Outcome& outcome) {
  if (!outcome.ok()) {
    throw Error(Error::Kind::kUser,
                fmt::format("the model cannot be traced in this mode: {}", outcome.reason));
  }
}

/// Names the layers of each step by their numbers in the model: "3+4".
std::vector<std::string> layers_of_steps(const ReadyModel& ready) {
  std::vector<std::string> texts;
  for (const worker::StepOrigin& step : ready.prepared.steps) {
    texts.push_back(
        step.layer ? fmt::format("{}", fmt::join(ready.plan.fused.origins.at(*step.layer), "+"))
                   : std::string());
  }
  return texts;
}

Seconds untraced_time(worker::Program& program, const measure::Clock& clock) {
  std::vector<Seconds> samples;
  Seconds spent{};
  while (samples.empty() || (spent < kUntracedBudget && samples.size() < kMostUntraced)) {
    const Seconds begin = clock();
    program.enqueue(0);
    program.synchronize();
    samples.push_back(clock() - begin);
    spent += samples.back();
  }
  return measure::summarize(samples).median;
}

}  // namespace

worker::Trace trace_model(worker::Backend& backend,
                          const measure::Clock& clock,
                          const worker::TraceRequest& request) {
  RequestedModel model(request.model);
  ReadyModel ready = prepare_mode(backend, model, request.model.modes.at(0));
  check(ready.outcome);
  model.fill();
  make_ready(model, clock, ready);
  check(ready.outcome);
  std::vector<model::Tensor> operands;
  check(model.operands(ready.plan.fused, ready.prepared.operands, operands, ready.magnitudes));
  worker::Program& program = *ready.prepared.program;
  worker::Trace trace;
  trace.untraced = untraced_time(program, clock);
  trace.files =
      program.trace(0, operands, request.folder, request.executions, layers_of_steps(ready));
  if (trace.files.empty()) {
    throw Error(Error::Kind::kUser,
                "this backend has no profiler of whole models: traces need a stack of the backend "
                "'onednn' or 'onnxruntime'");
  }
  return trace;
}

}  // namespace plumb::engine
