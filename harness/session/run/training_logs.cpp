// SPDX-License-Identifier: Apache-2.0
#include "harness/session/run/training_logs.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <string>

#include "harness/session/mlperf/mlperf_logs.hpp"
#include "harness/session/mlperf/mlperf_training_log.hpp"

namespace plumb::session {

void write_training_logs(const store::Store& store,
                         const results::RunHeader& run,
                         std::span<const PlannedModel> models,
                         const std::filesystem::path& folder) {
  std::map<std::filesystem::path, std::int64_t> processes;
  for (const results::DerivedRecord& record : store.derived(run.id, results::kExecutionRecord)) {
    const auto model = std::find_if(models.begin(), models.end(), [&](const PlannedModel& each) {
      return analysis::subject_of(each.instance) == record.subject;
    });
    if (model == models.end() || model->instance.training.empty()) {
      continue;
    }
    const results::Execution execution = results::execution_from_json(record.payload);
    const std::filesystem::path file =
        mlperf_training_file(folder, model->instance, execution.mode);
    const auto known = processes.find(file);
    if (!execution.row.outcome.timed() ||
        (known != processes.end() && known->second <= execution.row.process)) {
      continue;
    }
    processes[file] = execution.row.process;
    make_folder(file.parent_path());
    write_text_file(file, mlperf_training_log(model->instance, execution, run.environment));
    spdlog::info("MLPerf's log: {}", file.string());
  }
}

}  // namespace plumb::session
