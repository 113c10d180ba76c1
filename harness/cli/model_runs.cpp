// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/model_runs.hpp"

#include <onnx/onnx_pb.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/cli/mode_requests.hpp"
#include "harness/cli/model_source.hpp"
#include "harness/cli/progress_line.hpp"
#include "harness/plan/run_record.hpp"
#include "harness/results/execution.hpp"
#include "harness/rewrite/quantized_graph.hpp"

namespace plumb {
namespace {

/// Lists the modes of each subject that a run has a time for.
std::map<std::string, std::set<std::string>> executed(const Store& store, const RunId& run) {
  std::map<std::string, std::set<std::string>> modes;
  for (const DerivedRecord& record : store.derived(run, "execution")) {
    const Execution execution = execution_from_json(record.payload);
    if (execution.row.outcome.timed()) {
      modes[record.subject].insert(execution.mode);
    }
  }
  return modes;
}

/// Tells whether a run has a time for every mode: they are measured in turns, all or none.
bool has_all(const std::set<std::string>& done, const std::vector<ModeRequest>& modes) {
  return std::all_of(modes.begin(), modes.end(), [&](const ModeRequest& request) {
    return done.contains(to_text(request.mode));
  });
}

/// Executes a model and shows how far it is. Nothing: the user stopped it.
std::vector<Execution> executed_model(Executor& executor, const ExecuteRequest& request) {
  ProgressLine line;
  return executor.execute_model(request, [&](const ExecuteProgress& progress) {
    std::optional<Seconds> left;
    if (progress.share > 0.0) {
      left = progress.elapsed * ((1.0 - progress.share) / progress.share);
    }
    line.show({.done = static_cast<std::size_t>(progress.share * 100.0),
               .total = 100,
               .unit = "% of " + request.name,
               .current = {},
               .elapsed = progress.elapsed,
               .left = left});
  });
}

}  // namespace

ExecuteRequest execute_request_of(const ResolvedSuite::Model& model) {
  ExecuteRequest request;
  request.name = model.name;
  request.dtype = parse_data_type(model.dtype).value();
  if (model.path) {
    request.path = std::filesystem::absolute(*model.path);
    request.batch = model.batch;
    request.dims = model.dims;
  } else {
    request.model =
        build_zoo_model(model.name, {.batch = model.batch, .dims = model.dims}).SerializeAsString();
  }
  return request;
}

bool execute_models(Executor& executor,
                    Store& store,
                    const RunId& run,
                    const ResolvedSuite& suite,
                    std::span<const PlannedModel> models,
                    const Shard& shard,
                    const std::vector<ExecutionMode>& modes,
                    const std::function<bool()>& stopped) {
  PLUMB_CHECK(suite.models.size() == models.size());
  std::map<std::string, std::set<std::string>> done = executed(store, run);
  const ResultSet results = results_of(store, run);
  for (std::size_t i = 0; i < models.size(); ++i) {
    const ModelInstance& instance = models[i].instance;
    const std::string subject = subject_of(instance);
    if (i % shard.count != shard.index - 1 || instance.dtype == kInt8) {
      continue;  // in 8 bits it is a mode of the f32 model, which the scales are made of
    }
    ExecuteRequest request = execute_request_of(suite.models[i]);
    request.modes = mode_requests(models[i], results, modes);
    if (has_all(done[subject], request.modes)) {
      continue;
    }
    if (stopped()) {
      return false;
    }
    spdlog::info("end to end {}/{}: {}, {} modes",
                 i + 1,
                 models.size(),
                 to_text(instance, ", "),
                 request.modes.size());
    const std::vector<Execution> executions = executed_model(executor, request);
    if (executions.empty()) {
      return false;  // stopped by the user: this model begins anew when the run is resumed
    }
    for (const Execution& execution : executions) {
      put_run_record(store, run, "execution", subject, to_json(execution));
    }
  }
  return true;
}

}  // namespace plumb
