// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "harness/analysis/history/run_series.hpp"
#include "harness/analysis/matrix/matrix.hpp"
#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {
namespace {

constexpr std::array<std::string_view, kAxes> kNames{
    "model", "runtime", "stack", "system", "threads", "batch", "type", "mode", "bound"};

/// Name of a thing, and the facts that identify it.
struct NamedIdentity {
  std::string name;
  results::Facts facts;
};

/// Returns the names of the facts that are not the same in all identities.
std::vector<std::string> differing_facts(const std::set<results::Facts>& identities) {
  std::set<std::string> names;
  for (const results::Facts& facts : identities) {
    for (const auto& [name, value] : facts) {
      names.insert(name);
    }
  }
  std::vector<std::string> differing;
  for (const std::string& name : names) {
    std::set<std::string> values;
    for (const results::Facts& facts : identities) {
      values.insert(results::fact_of(facts, name));
    }
    if (values.size() > 1) {
      differing.push_back(name);
    }
  }
  return differing;
}

/// Returns a name for each thing. Equal things have equal names, and others do not.
std::vector<std::string> distinct_names(std::span<const NamedIdentity> things) {
  std::map<std::string, std::set<results::Facts>> identities;
  for (const NamedIdentity& thing : things) {
    identities[thing.name].insert(thing.facts);
  }
  std::vector<std::string> names;
  for (const NamedIdentity& thing : things) {
    std::vector<std::string> parts;
    for (const std::string& fact : differing_facts(identities[thing.name])) {
      const std::string value = results::fact_of(thing.facts, fact);
      parts.push_back(fmt::format("{} {}", fact, value.empty() ? "none" : value));
    }
    names.push_back(parts.empty() ? thing.name
                                  : fmt::format("{} ({})", thing.name, fmt::join(parts, ", ")));
  }
  return names;
}

NamedIdentity system_of(const results::Environment& environment) {
  const std::string model = results::device_model(environment);
  return {model.empty() ? "unknown" : model.substr(0, model.find(", family")),
          system_identity(environment)};
}

NamedIdentity stack_of(const results::RunHeader& run) {
  NamedIdentity stack{run.stack, run.environment.identity};
  for (const auto& [name, value] : system_identity(run.environment)) {
    stack.facts.erase(name);
  }
  stack.facts.erase("threads");
  stack.facts.erase("gpu.uuid");
  stack.facts.erase("backend");
  stack.facts["runtime"] = run.backend;
  return stack;
}

}  // namespace

std::string_view to_text(Axis axis) {
  return enum_text(kNames, axis);
}

std::optional<Axis> parse_axis(std::string_view text) {
  return parse_enum<Axis>(kNames, text);
}

std::vector<std::string> axis_names() {
  return {kNames.begin(), kNames.end()};
}

std::string describe(Axis axis, const std::string& place) {
  switch (axis) {
    case Axis::kBatch:
      return "batch " + place;
    case Axis::kThreads:
      return place + (place == "1" ? " thread" : " threads");
    default:
      return place;
  }
}

std::vector<Coordinates> place_runs(std::span<const Matrix::Run> runs) {
  std::vector<NamedIdentity> stacks;
  std::vector<NamedIdentity> systems;
  for (const Matrix::Run& run : runs) {
    stacks.push_back(stack_of(run.header));
    systems.push_back(system_of(run.header.environment));
  }
  const std::vector<std::string> stack_names = distinct_names(stacks);
  const std::vector<std::string> system_names = distinct_names(systems);
  std::vector<Coordinates> places(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const results::RunHeader& header = runs[i].header;
    const std::string threads = results::fact_of(header.environment.identity, "threads");
    at(places[i], Axis::kRuntime) = header.backend;
    at(places[i], Axis::kStack) = stack_names[i];
    at(places[i], Axis::kSystem) = system_names[i];
    at(places[i], Axis::kThreads) = threads.empty() ? "unknown" : threads;
  }
  return places;
}

namespace {

constexpr const char* kLowPrecision = "bf16+channels_last";
constexpr const char* kAll = "best_variant+bf16+fusion+parallel_branches";

constexpr std::string_view kBatches =
    "a suite with several batches, on each system: batch = [1, 8, 64]";

Matrix::Query of_models(Quantity quantity) {
  Matrix::Query query;
  query.quantity = quantity;
  query.rows = Axis::kModel;
  query.only = {{Axis::kBatch, {"1"}}};
  return query;
}

/// Returns a query of batches on systems: for each model, or as the mean over all of them.
Matrix::Query of_batches(Quantity quantity, const std::string& mode, bool mean = false) {
  Matrix::Query query;
  query.quantity = quantity;
  query.rows = mean ? Axis::kSystem : Axis::kModel;
  query.columns = Axis::kBatch;
  query.modes = {mode};
  query.bounds = {results::BoundKind::kBenanzaSequential};
  query.mean_over_models = mean;
  return query;
}

std::vector<MatrixReport::View> make_views() {
  std::vector<MatrixReport::View> views;
  views.push_back({"latency",
                   "latency of each model at batch 1",
                   "6",
                   "any suite with models",
                   of_models(Quantity::kTime)});

  Matrix::Query runtimes = of_models(Quantity::kTime);
  runtimes.columns = Axis::kRuntime;
  runtimes.relative_to = kFirstColumn;
  views.push_back({"runtimes",
                   "latency of each model by runtime ÷ that of the first runtime, at batch 1",
                   "7",
                   "the same suite by each runtime: --stack of each backend",
                   std::move(runtimes)});

  Matrix::Query branches = of_models(Quantity::kNormalizedBound);
  branches.columns = Axis::kBound;
  branches.bounds = {results::BoundKind::kBenanzaSequential, results::BoundKind::kBenanzaParallel};
  views.push_back({"sequential-and-parallel",
                   "the paper's sequential and parallel bound ÷ latency, at batch 1",
                   "8",
                   "layers and models: no --only",
                   std::move(branches)});

  views.push_back({"batches",
                   "latency by batch and system",
                   "9",
                   kBatches,
                   of_batches(Quantity::kTime, "plain")});
  views.push_back({"bound-by-batch",
                   "the paper's sequential bound ÷ latency, by batch and system",
                   "12",
                   kBatches,
                   of_batches(Quantity::kNormalizedBound, "plain")});
  views.push_back({"mean-bound-by-batch",
                   "geometric mean over all models of bound-by-batch",
                   "13",
                   kBatches,
                   of_batches(Quantity::kNormalizedBound, "plain", true)});
  views.push_back({"best-variant-speedup",
                   "predicted speed-up by the fastest variant of every layer",
                   "14",
                   kBatches,
                   of_batches(Quantity::kPredictedSpeedup, "best_variant")});
  views.push_back({"mean-best-variant-speedup",
                   "geometric mean over all models of best-variant-speedup",
                   "15",
                   kBatches,
                   of_batches(Quantity::kPredictedSpeedup, "best_variant", true)});
  views.push_back({"fusion-speedup",
                   "predicted speed-up by fusion of layers",
                   "16",
                   kBatches,
                   of_batches(Quantity::kPredictedSpeedup, "fusion")});
  views.push_back({"bf16-bound-speedup",
                   "predicted speed-up by bf16 in any layout: the paper's Tensor Cores (NCHW)",
                   "17",
                   kBatches,
                   of_batches(Quantity::kPredictedSpeedup, "bf16")});
  views.push_back({"bf16-channels-last-bound-speedup",
                   "predicted speed-up by bf16 with channels last: Tensor Cores (NHWC)",
                   "18",
                   "--mode plain --mode bf16+channels_last, layers included",
                   of_batches(Quantity::kPredictedSpeedup, kLowPrecision)});
  views.push_back({"bf16-channels-last-speedup",
                   "measured speed-up by bf16 with channels last: Tensor Cores (NHWC)",
                   "19",
                   "--mode plain --mode bf16+channels_last",
                   of_batches(Quantity::kSpeedup, kLowPrecision)});
  views.push_back({"all-speedup",
                   "predicted speed-up by parallel branches, fastest variants, fusion and bf16",
                   "20",
                   kBatches,
                   of_batches(Quantity::kPredictedSpeedup, kAll)});

  Matrix::Query front;
  front.rows = Axis::kModel;
  front.columns = Axis::kBatch;
  views.push_back({"latency-throughput",
                   "batches on the Pareto front of latency against throughput",
                   "",
                   "a suite with several batches: batch = [1, 8, 64]",
                   std::move(front),
                   true});
  return views;
}

}  // namespace

std::span<const MatrixReport::View> matrix_views() {
  static const std::vector<MatrixReport::View> views = make_views();
  return views;
}

const MatrixReport::View& find_view(const std::string& name) {
  std::string known;
  for (const MatrixReport::View& view : matrix_views()) {
    if (view.name == name) {
      return view;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", view.name);
  }
  throw Error(Error::Kind::kUser, fmt::format("there is no view '{}': there are {}", name, known));
}

}  // namespace plumb::analysis
