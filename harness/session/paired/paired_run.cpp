// SPDX-License-Identifier: Apache-2.0
#include "harness/session/paired/paired_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/analysis/compare/environment_difference.hpp"
#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/ulid.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/rewrite/quantized_graph.hpp"
#include "harness/session/host/system_facts.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::session {
namespace {

/// Names the models of a suite whose shapes alternate. Empty: there is none.
std::string alternation_left_out(const suite::ResolvedSuite& suite) {
  std::set<std::string> names;
  for (const suite::ResolvedSuite::Model& model : suite.models) {
    if (model.alternation) {
      names.insert(model.name);
    }
  }
  return names.empty() ? std::string()
                       : fmt::format(
                             "each shape of {} was executed by itself: pairs do not execute it "
                             "among the others, as `plumb run` does; `plumb compare` compares that",
                             fmt::join(names, ", "));
}

/// Makes the requests for those of the modes in which a model of this type is executed.
std::vector<worker::ModeRequest> requests_for(const std::string& dtype,
                                              std::span<const results::ExecutionMode> modes) {
  std::vector<worker::ModeRequest> requests;
  for (const results::ExecutionMode& mode : modes) {
    PLUMB_CHECK(!mode.best_variant);
    if (dtype != rewrite::kInt8 && (dtype == "f32" || mode.other_type().empty())) {
      requests.push_back({mode, {}, {}});
    }
  }
  return requests;
}

}  // namespace

PairedRun paired_run(const std::string& stack,
                     const suite::ResolvedSuite& suite,
                     std::span<const PlannedModel> models,
                     const PairedOptions& options) {
  WorkerChoice worker = options.worker;
  worker.stack = stack;
  PairedRun run;
  run.side = {worker_options(worker), new_ulid()};
  results::RunHeader& header = run.header;
  header.id = run.side.run;
  header.suite = suite.name;
  header.resolved_suite = suite_for_store(suite, models);
  header.suite_hash = sha256(header.resolved_suite);
  header.backend = run.side.worker.stack.backend;
  header.stack = run.side.worker.stack.name;
  header.environment = join_environment(read_system(),
                                        worker::WorkerProcess(run.side.worker).describe(),
                                        worker.threads,
                                        header.stack);
  results::add_mark(results::kPairedMark, header.environment);
  header.command = options.command;
  header.started = current_time();
  return run;
}

void refuse_unlike(const PairedRun& baseline, const PairedRun& candidate) {
  const std::vector<std::string> varied{"stack"};
  std::string unlike;
  for (const analysis::EnvironmentDifference& each :
       analysis::environment_diff(baseline.header.environment, candidate.header.environment)) {
    if (each.identity && !analysis::is_varied(each.name, varied)) {
      unlike += fmt::format(" {}: '{}' and '{}';", each.name, each.baseline, each.candidate);
    }
  }
  if (!unlike.empty()) {
    throw Error(Error::Kind::kRefused,
                "the stacks differ in more than their libraries:" + unlike +
                    " only stacks of one backend on one device are compared in pairs");
  }
}

PairedSession::PairedSession(store::Store& store, PairedRun baseline, PairedRun candidate)
    : baseline_(std::move(baseline)),
      candidate_(std::move(candidate)),
      baseline_session_(store, baseline_.side.worker.stack),
      candidate_session_(store, candidate_.side.worker.stack) {
  baseline_.side.before_worker_ends = baseline_session_.watcher();
  candidate_.side.before_worker_ends = candidate_session_.watcher();
  baseline_session_.begin(baseline_.header);
  candidate_session_.begin(candidate_.header);
  for (const PairedRun* each : {&baseline_, &candidate_}) {
    spdlog::info("run {}: {}", each->header.id, each->header.stack);
  }
}

std::vector<std::string> PairedSession::stack_faults() const {
  std::vector<std::string> faults = baseline_session_.stack_faults();
  for (std::string& fault : candidate_session_.stack_faults()) {
    if (std::find(faults.begin(), faults.end(), fault) == faults.end()) {
      faults.push_back(std::move(fault));
    }
  }
  return faults;
}

void PairedSession::finish(results::RunState state) {
  baseline_session_.finish(state);
  candidate_session_.finish(state);
}

std::vector<results::ExecutionMode> default_paired_modes() {
  return {{}, {.fusion = true}};
}

PairedWork collect_work(const ModelSource& source,
                        const suite::ResolvedSuite& suite,
                        std::span<const PlannedModel> models,
                        std::span<const results::ExecutionMode> modes) {
  PLUMB_CHECK(suite.models.size() == models.size());
  PairedWork work;
  std::set<model::LayerKey> seen;
  const auto add = [&](const model::LayerKey& key) {
    if (seen.insert(key).second) {
      work.layers.push_back(key);
    }
  };
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (const model::Layer& layer : models[i].graph.layers) {
      if (layer.role == model::Layer::Role::kCompute) {
        add(layer.key);
      }
    }
    std::vector<worker::ModeRequest> requests = requests_for(models[i].instance.dtype, modes);
    if (!requests.empty()) {
      PairedWork::Model model{analysis::subject_of(models[i].instance),
                              make_execute_request(source, suite.models[i])};
      model.request.modes = std::move(requests);
      model.request.sampling.budget = Seconds(0.3);
      work.models.push_back(std::move(model));
    }
  }
  for (const model::ListedLayer& layer : suite.layers) {
    add(layer.key);
  }
  work.left_out = work.models.empty() ? std::string() : alternation_left_out(suite);
  if (!work.left_out.empty()) {
    spdlog::warn("{}", work.left_out);
  }
  return work;
}

}  // namespace plumb::session
