// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/model_runs.hpp"

#include <onnx/onnx_pb.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <set>

#include "harness/base/error.hpp"
#include "harness/cli/model_source.hpp"
#include "harness/results/execution.hpp"

namespace plumb {
namespace {

ExecuteRequest request_of(const ResolvedSuite::Model& model) {
  ExecuteRequest request;
  request.name = model.name;
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

void put(Store& store, const RunId& run, const std::string& subject, const Execution& execution) {
  const DerivedRecord record{.run = run,
                             .kind = "execution",
                             .subject = subject,
                             .analysis_version = std::string(kAnalysisVersion),
                             .inputs = {},
                             .payload = to_json(execution),
                             .computed = current_time()};
  store.put_derived({&record, 1});
}

/// Lists the subjects that a run has a time for.
std::set<std::string> executed(const Store& store, const RunId& run) {
  std::set<std::string> subjects;
  for (const DerivedRecord& record : store.derived(run, "execution")) {
    if (execution_from_json(record.payload).row.outcome.timed()) {
      subjects.insert(record.subject);
    }
  }
  return subjects;
}

}  // namespace

bool execute_models(Executor& executor,
                    Store& store,
                    const RunId& run,
                    const ResolvedSuite& suite,
                    std::span<const PlannedModel> models,
                    const Shard& shard,
                    const std::function<bool()>& stopped) {
  PLUMB_CHECK(suite.models.size() == models.size());
  const std::set<std::string> done = executed(store, run);
  for (std::size_t i = 0; i < models.size(); ++i) {
    const ModelInstance& instance = models[i].instance;
    const std::string subject = subject_of(instance);
    if (i % shard.count != shard.index - 1 || done.contains(subject)) {
      continue;
    }
    if (stopped()) {
      return false;
    }
    if (instance.dtype != to_text(DataType::kF32)) {
      spdlog::info("{}: end to end only f32 is executed yet", to_text(instance, ", "));
      continue;
    }
    spdlog::info("end to end {}/{}: {}", i + 1, models.size(), to_text(instance, ", "));
    put(store, run, subject, executor.execute_model(request_of(suite.models[i])));
  }
  return true;
}

}  // namespace plumb
