// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/ready_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/exec/this_process.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
namespace {

constexpr Seconds kBudget{2.0};
constexpr double kMinFaster = 0.97;  // of the library's time; times of layers alone are rough
constexpr std::size_t kTriedPerKey = 4;

class Search {
 public:
  Search(worker::Backend& backend,
         const model::Graph& graph,
         const worker::ModeRequest& request,
         const measure::Clock& clock)
      : backend_(backend),
        graph_(graph),
        price_(request.reorder_per_byte),
        clock_(clock),
        end_(clock() + kBudget) {
    for (const worker::ModeRequest::Step& step : request.steps) {
      choices_.try_emplace(step.key, &step.choices);
      if (step.choices.size() == 1) {
        fixed_.try_emplace(step.key, step.choices.front().variant);
      }
    }
  }

  worker::LayerVariants run() {
    if (fixed_.size() == choices_.size()) {
      return fixed_;
    }
    try_set(fixed_);
    if (!best_cost_) {
      return fixed_;  // cannot be planned at all; the caller's own attempt will give the reason
    }
    order_keys(backend_.prepare_model(graph_, {fixed_, false}));
    try_layouts();
    while (descend()) {
    }
    return best_;
  }

 private:
  /// Key with the variants that are worth trying for it.
  struct Candidate {
    model::LayerKey key;
    std::vector<worker::ModeRequest::Choice> tried;
    Seconds gain{};  ///< over all its layers, reorders aside
  };

  [[nodiscard]] bool ended() const { return clock_() >= end_; }

  /// Returns the time of the variant that the plan executes. A variant without a time counts as the
  /// key's fastest.
  [[nodiscard]] Seconds time_of(const model::LayerKey& key, const std::string& variant) const {
    const auto found = choices_.find(key);
    if (found == choices_.end()) {
      return Seconds(0);
    }
    const std::vector<worker::ModeRequest::Choice>& choices = *found->second;
    const auto named = std::find_if(choices.begin(), choices.end(), [&](const auto& choice) {
      return choice.variant == variant;
    });
    return named == choices.end() ? choices.front().seconds : named->seconds;
  }

  [[nodiscard]] std::optional<Seconds> cost_of(const worker::LayerVariants& variants) {
    const worker::Backend::PreparedModel model = backend_.prepare_model(graph_, {variants, false});
    if (!model.outcome.ok()) {
      return std::nullopt;
    }
    Seconds cost = price_ * static_cast<double>(model.reordered.value);
    for (model::LayerId id = 0; id < model.variants.size(); ++id) {
      if (!model.variants[id].empty()) {
        cost += time_of(graph_.layers[id].key, model.variants[id]);
      }
    }
    return cost;
  }

  bool try_set(const worker::LayerVariants& variants) {
    const std::optional<Seconds> cost = cost_of(variants);
    if (!cost || (best_cost_ && *cost >= *best_cost_)) {
      return false;
    }
    best_cost_ = cost;
    best_ = variants;
    return true;
  }

  /// Lists the keys with variants worth trying against the library's own choices, most to gain
  /// first.
  void order_keys(const worker::Backend::PreparedModel& own) {
    std::map<std::string, Candidate> candidates;
    for (model::LayerId id = 0; id < own.variants.size(); ++id) {
      const model::LayerKey& key = graph_.layers[id].key;
      const auto found = choices_.find(key);
      if (own.variants[id].empty() || found == choices_.end() || fixed_.contains(key)) {
        continue;
      }
      const Seconds now = time_of(key, own.variants[id]);
      Candidate& candidate = candidates[key.text];
      candidate.key = key;
      candidate.gain += now - found->second->front().seconds;
      for (const worker::ModeRequest::Choice& choice : *found->second) {
        const bool known =
            std::any_of(candidate.tried.begin(), candidate.tried.end(), [&](const auto& one) {
              return one.variant == choice.variant;
            });
        if (!known && choice.seconds < kMinFaster * now && candidate.tried.size() < kTriedPerKey) {
          candidate.tried.push_back(choice);
        }
      }
    }
    for (auto& [text, candidate] : candidates) {
      if (!candidate.tried.empty()) {
        candidates_.push_back(std::move(candidate));
      }
    }
    std::stable_sort(candidates_.begin(), candidates_.end(), [](const auto& a, const auto& b) {
      return a.gain > b.gain;
    });
  }

  /// Tries every key's fastest variant, then for each layout every key's fastest in it.
  void try_layouts() {
    std::set<std::string> layouts;
    worker::LayerVariants fastest = fixed_;
    for (const Candidate& candidate : candidates_) {
      fastest[candidate.key] = candidate.tried.front().variant;
      for (const worker::ModeRequest::Choice& choice : candidate.tried) {
        layouts.emplace(results::VariantId(choice.variant).layout());
      }
    }
    try_set(fastest);
    for (const std::string& layout : layouts) {
      worker::LayerVariants set = fixed_;
      for (const Candidate& candidate : candidates_) {
        for (const worker::ModeRequest::Choice& choice : candidate.tried) {
          if (results::VariantId(choice.variant).layout() == layout) {
            set.try_emplace(candidate.key, choice.variant);
          }
        }
      }
      if (!ended()) {
        try_set(set);
      }
    }
  }

  /// Tries other variants key by key. Returns whether another round may find a better set.
  bool descend() {
    bool better = false;
    for (const Candidate& candidate : candidates_) {
      // Without its key, the library chooses again, which may fit the new neighbours better.
      worker::LayerVariants without = best_;
      without.erase(candidate.key);
      if (best_.contains(candidate.key) && !ended()) {
        better = try_set(without) || better;
      }
      for (const worker::ModeRequest::Choice& choice : candidate.tried) {
        worker::LayerVariants other = without;
        other[candidate.key] = choice.variant;
        if (other != best_ && !ended()) {
          better = try_set(other) || better;
        }
      }
    }
    return better && !ended();
  }

  worker::Backend& backend_;
  const model::Graph& graph_;
  Seconds price_;
  const measure::Clock& clock_;
  Seconds end_;
  std::unordered_map<model::LayerKey, const std::vector<worker::ModeRequest::Choice>*> choices_;
  worker::LayerVariants fixed_;
  std::vector<Candidate> candidates_;
  worker::LayerVariants best_;
  std::optional<Seconds> best_cost_;
};

}  // namespace

worker::LayerVariants chosen_variants(worker::Backend& backend,
                                      const model::Graph& graph,
                                      const worker::ModeRequest& request,
                                      const measure::Clock& clock) {
  return Search(backend, graph, request, clock).run();
}

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
/// that is 0 too would not notice. Refuses one that overflows, too, unless it computes in f16.
results::Outcome check_gradients(const rewrite::TrainingStep& step,
                                 const model::Graph& executed,
                                 const std::vector<model::Tensor>& outputs) {
  constexpr std::size_t kFirstMoments = 2;  // the loss is 0, the weights are 1
  if (step.training.loss_scale) {
    const model::Tensor& scale = outputs.at(outputs.size() - 2);
    if (read_numbers(scale).front() < rewrite::kFirstLossScale) {
      const bool overflows = std::any_of(  // as it may, and the update was left out
          executed.values.begin(),
          executed.values.end(),
          [](const model::Value& value) { return value.type.dtype == model::DataType::kF16; });
      return overflows ? results::Outcome{}
                       : results::Outcome{results::Outcome::Kind::kWrongResult,
                                          "a gradient of the first step is not finite"};
    }
  }
  for (std::size_t index = 0; index < outputs.size(); ++index) {
    if (step.kinds[index] == kFirstMoments && compute_magnitude(outputs[index]) > 0.0) {
      return {};
    }
  }
  return {results::Outcome::Kind::kWrongResult, "all gradients are 0: the step trains nothing"};
}

/// Returns why a backend that plans models itself has no such mode.
results::Outcome with_own_plan(const results::ExecutionMode& mode) {
  if (!mode.best_variant && !mode.channels_last && !mode.checkpointing && !mode.folded_norms &&
      !mode.int8 && !mode.micro_batch && mode.fusion_family().empty() &&
      !worker::find_launch_mode(mode)) {
    return {};
  }
  return {results::Outcome::Kind::kUnsupported,
          fmt::format("this runtime chooses variants, layouts, fusions, 8-bit integers and "
                      "launches itself, so it has no mode {}",
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
  for (const worker::ModeRequest::Step& step : request.steps) {
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
    ready.outcome = check_gradients(*model.step(), ready.plan.fused.graph, ready.outputs);
  }
  if (ready.outcome.ok()) {
    ready.outcome = compared(ready.outputs, program.outputs_launch_by_launch(0, operands));
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
