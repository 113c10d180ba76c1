// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/ready_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/results/execution.hpp"
#include "runners/engine/exec/finite_check.hpp"
#include "runners/engine/exec/memory_limit.hpp"
#include "runners/engine/exec/output_difference.hpp"
#include "runners/engine/exec/variant_search.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
namespace {

/// The same kernels compute the same; only sums in no fixed order (atomics) may round differently.
constexpr double kLaunchesDiffer = 1e-3;

results::Outcome checked(const model::Graph& graph, const std::vector<model::Tensor>& outputs) {
  for (std::size_t index = 0; index < outputs.size(); ++index) {
    const model::Tensor& output = outputs[index];
    if (const auto found = first_not_finite(output.type.dtype, output.data)) {
      return {results::Outcome::Kind::kWrongResult,
              fmt::format("element {} of output '{}' is {}",
                          *found,
                          graph.values[graph.outputs[index]].name,
                          number_at(output, *found))};
    }
  }
  return {};
}

/// Refuses a first step whose gradients are all 0, as the states made of them tell. A reference
/// that is 0 too would not notice.
results::Outcome check_gradients(const rewrite::TrainingStep& step,
                                 const std::vector<model::Tensor>& outputs) {
  constexpr std::size_t kFirstMoments = 2;  // the loss is 0, the weights are 1
  if (step.training.loss_scale) {
    const model::Tensor& scale = outputs.at(outputs.size() - 2);
    if (read_numbers(scale).front() < rewrite::kFirstLossScale) {
      return {};  // an overflow: the update was left out
    }
  }
  for (std::size_t index = 0; index < outputs.size(); ++index) {
    if (step.kinds[index] == kFirstMoments) {
      const std::vector<double> numbers = read_numbers(outputs[index]);
      if (std::any_of(numbers.begin(), numbers.end(), [](double each) { return each != 0.0; })) {
        return {};
      }
    }
  }
  return {results::Outcome::Kind::kWrongResult, "all gradients are 0: the step trains nothing"};
}

/// Returns why a backend that plans models itself has no such mode.
results::Outcome with_own_plan(const results::ExecutionMode& mode) {
  if (!mode.best_variant && !mode.channels_last && !mode.checkpointing && !mode.folded_norms &&
      !mode.int8 && !mode.micro_batch && !worker::find_launch_mode(mode)) {
    return {};
  }
  return {results::Outcome::Kind::kUnsupported,
          fmt::format("this runtime chooses variants, layouts, 8-bit integers and launches itself, "
                      "so it has no mode {}",
                      to_text(mode))};
}

/// Returns why a step of training has no such mode.
results::Outcome mode_of_step(const worker::Backend& backend, const results::ExecutionMode& mode) {
  if (backend.plans_models()) {
    return {results::Outcome::Kind::kUnsupported,
            "this runtime executes no step of training: its interface is that of inference"};
  }
  if (mode.int8) {
    return {results::Outcome::Kind::kUnsupported,
            "a step of training is executed in f32, tf32, bf16 or f16, not in int8"};
  }
  return {};
}

/// Returns why a backend did not divide a batch as the request says.
results::Outcome find_undivided(const worker::ModeRequest& request,
                                const std::vector<std::string>& executed) {
  for (const worker::ModeStep& step : request.steps) {
    const std::string& wanted = step.choices.at(0).variant;
    if (std::find(executed.begin(), executed.end(), wanted) == executed.end()) {
      return {results::Outcome::Kind::kUnsupported,
              fmt::format("this backend does not execute '{}'", wanted)};
    }
  }
  return {};
}

/// Reads the memory of this process, where that is what models take.
std::optional<Bytes> resident_of(const worker::Backend& backend) {
  return backend.free_memory() ? std::nullopt : resident_memory();
}

/// Returns by how much the memory of this process has grown.
Bytes grown_since(Bytes before) {
  return Bytes{resident_memory().value_or(before).value - before.value};
}

/// Compares a program's outputs with those of the same launches one by one.
results::Outcome compared(const std::vector<model::Tensor>& outputs,
                          const std::vector<model::Tensor>& launched) {
  const double error = launched.empty() ? 0.0 : largest_difference(outputs, launched);
  if (error <= kLaunchesDiffer) {
    return {};
  }
  return {results::Outcome::Kind::kWrongResult,
          fmt::format("an output differs by {:.3g} of its largest magnitude from that of the same "
                      "launches one after the other",
                      error)};
}

/// Executes the model before quantisation once and stores the largest magnitudes of its values.
results::Outcome observe(const RequestedModel& model, ReadyModel& ready) {
  std::vector<model::Tensor> operands;
  results::Outcome outcome =
      model.operands(*ready.plan.observed, ready.observed.operands, operands);
  if (!outcome.ok()) {
    return outcome;
  }
  worker::Program& program = *ready.observed.program;
  program.bind(0, operands, false);
  program.enqueue(0);
  program.synchronize();
  const std::vector<model::Tensor> outputs = program.outputs(0);
  const model::Graph& graph = ready.plan.observed->graph;
  outcome = checked(graph, outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ready.magnitudes.insert_or_assign(graph.outputs[i], compute_magnitude(outputs[i]));
  }
  ready.observed = {};
  return outcome;
}

}  // namespace

ReadyModel prepare_mode(worker::Backend& backend,
                        const RequestedModel& model,
                        const worker::ModeRequest& mode) {
  ReadyModel ready;
  if (model.step() != nullptr) {
    ready.outcome = mode_of_step(backend, mode.mode);
    if (!ready.outcome.ok()) {
      return ready;
    }
  }
  if (backend.plans_models()) {
    ready.outcome = with_own_plan(mode.mode);
    if (!ready.outcome.ok()) {
      return ready;
    }
  }
  const std::optional<Bytes> before = resident_of(backend);
  ready.plan = graph_of_mode(model.graph(), mode, backend, model.memory_cap());
  if (mode.mode.best_variant || mode.mode.micro_batch) {
    ready.plan.variants =
        chosen_variants(backend, ready.plan.fused.graph, mode, measure::steady_clock());
  }
  ready.prepared = backend.prepare_model(ready.plan.fused.graph,
                                         {ready.plan.variants,
                                          mode.mode.parallel_branches,
                                          worker::find_launch_mode(mode.mode),
                                          mode.mode.fusion});
  ready.outcome = ready.prepared.outcome;
  if (ready.outcome.ok() && mode.mode.micro_batch) {
    ready.outcome = find_undivided(mode, ready.prepared.variants);
  }
  if (ready.outcome.ok() && ready.plan.observed) {
    ready.observed = backend.prepare_model(ready.plan.observed->graph, {});
    ready.outcome = ready.observed.outcome;
  }
  if (before) {
    ready.preparation = grown_since(*before);
    ready.resident = ready.preparation;
  }
  return ready;
}

void make_ready(const RequestedModel& model, const measure::Clock& clock, ReadyModel& ready) {
  PLUMB_CHECK(ready.outcome.ok());
  if (ready.plan.observed) {
    ready.outcome = observe(model, ready);
    if (!ready.outcome.ok()) {
      return;
    }
  }
  std::vector<model::Tensor> operands;
  ready.outcome =
      model.operands(ready.plan.fused, ready.prepared.operands, operands, ready.magnitudes);
  if (!ready.outcome.ok()) {
    return;
  }
  worker::Program& program = *ready.prepared.program;
  const std::optional<Bytes> before = ready.resident ? resident_memory() : std::nullopt;
  program.bind(0, operands, false);
  const Seconds begin = clock();
  program.enqueue(0);
  program.synchronize();
  ready.first_call = clock() - begin;
  if (before) {
    *ready.resident += grown_since(*before);
  }
  ready.outputs = program.outputs(0);
  ready.outcome = checked(ready.plan.fused.graph, ready.outputs);
  if (ready.outcome.ok() && model.step() != nullptr) {
    ready.outcome = check_gradients(*model.step(), ready.outputs);
  }
  if (ready.outcome.ok()) {
    ready.outcome = compared(ready.outputs, program.outputs_launch_by_launch(0));
  }
}

void add_memory_readings(const ReadyModel& ready, results::Measurement& row) {
  const auto add = [&](const char* reading, const std::optional<Bytes>& amount) {
    if (amount) {
      const auto bytes = static_cast<double>(amount->value);
      row.readings[reading] = {bytes, bytes, bytes, 1};
    }
  };
  add(results::kPreparationMemory, ready.preparation);
  add(results::kResidentMemory, ready.resident);
}

}  // namespace plumb::engine
