// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/loadgen/mlperf/mlperf_log.hpp"
#include "harness/results/execution.hpp"
#include "harness/session/host/build_facts.hpp"
#include "harness/session/mlperf/mlperf_submission.hpp"

namespace plumb::session {
namespace {

void write_summary_and_detail(const std::filesystem::path& place,
                              const loadgen::LoadResult& result,
                              const loadgen::MlperfLogFacts& facts) {
  make_folder(place);
  std::ostringstream summary;
  loadgen::write_mlperf_summary(summary, result);
  write_text_file(place / loadgen::kMlperfSummaryFile, summary.str());
  std::ostringstream detail;
  loadgen::write_mlperf_detail(detail, result, facts);
  write_text_file(place / loadgen::kMlperfDetailFile, detail.str());
}

}  // namespace

std::string folder_name(const std::string& text) {
  std::string name = text;
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.';
    c = plain ? c : '_';
  }
  if (name.empty() || name.front() == '.') {
    name.insert(0, "_");
  }
  return name;
}

void write_text_file(const std::filesystem::path& file, const std::string& content) {
  std::ofstream out(file, std::ios::binary);
  out << content;
  out.close();
  if (!out) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format("cannot write '{}': check the folder and the disk's space", file.string()));
  }
}

std::filesystem::path mlperf_log_folder(const std::filesystem::path& folder,
                                        const analysis::ModelInstance& instance,
                                        const std::string& mode,
                                        std::string_view name) {
  std::filesystem::path place = folder / folder_name(analysis::subject_of(instance));
  if (mode != to_text(results::ExecutionMode{})) {
    place /= folder_name(mode);
  }
  return place / folder_name(std::string(name));
}

std::filesystem::path mlperf_accuracy_file(const std::filesystem::path& scenario) {
  const std::filesystem::path place = std::filesystem::absolute(scenario) / "accuracy";
  make_folder(place);
  return place / loadgen::kMlperfAccuracyFile;
}

void write_mlperf_logs(const std::filesystem::path& scenario, const results::ScenarioResult& load) {
  PLUMB_CHECK(load.result.has_value());
  const std::filesystem::path place = scenario / "performance" / "run_1";
  loadgen::MlperfLogFacts facts{.program = fmt::format("Plumbline {}", kPlumbVersion),
                                .commit = kPlumbCommit,
                                .started = load.started,
                                .data_set = "seeded inputs",
                                .process_id = load.process,
                                .requested = load.requested};
  write_summary_and_detail(place, *load.result, facts);
  std::ostringstream responses;
  loadgen::MlperfAccuracyLog(responses).finish();
  write_text_file(place / loadgen::kMlperfAccuracyFile, responses.str());
  if (load.accuracy) {
    facts.requested.mode = loadgen::RequestedLoad::Mode::kAccuracy;
    write_summary_and_detail(scenario / "accuracy", *load.accuracy, facts);
  }
  spdlog::info("MLPerf's logs: {}", place.string());
}

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSourcePath = __FILE__;

/// Source that the lines of a training log name as their origin: this one.
constexpr std::string_view kSourceName = kSourcePath.substr(kSourcePath.rfind('/') + 1);

/// Writer of a training log's lines. Times are those of the epoch 1970, in milliseconds.
class TrainingLog {
 public:
  explicit TrainingLog(Timestamp begin) : begin_(begin) {}

  void at(Seconds after) { after_ = after; }

  void point(std::string_view key,
             Json value,
             Json metadata = {},
             unsigned line = __builtin_LINE()) {
    event("POINT_IN_TIME", key, std::move(value), std::move(metadata), line);
  }
  void start(std::string_view key, Json metadata = {}, unsigned line = __builtin_LINE()) {
    event("INTERVAL_START", key, {}, std::move(metadata), line);
  }
  void stop(std::string_view key, Json metadata = {}, unsigned line = __builtin_LINE()) {
    event("INTERVAL_END", key, {}, std::move(metadata), line);
  }

  std::string take() { return std::move(text_); }

 private:
  /// Writes one line of the log. `line` is that of the call in this source.
  void event(
      std::string_view type, std::string_view key, Json value, Json metadata, unsigned line) {
    const auto time =
        begin_.time_since_epoch() + std::chrono::duration_cast<std::chrono::nanoseconds>(after_);
    if (metadata.is_null()) {
      metadata = Json::object();
    }
    metadata["file"] = kSourceName;
    metadata["lineno"] = line;
    const Json entry{
        {"namespace", ""},
        {"time_ms", std::chrono::duration_cast<std::chrono::milliseconds>(time).count()},
        {"event_type", type},
        {"key", key},
        {"value", std::move(value)},
        {"metadata", std::move(metadata)}};
    text_ +=
        ":::MLLOG " + entry.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }

  Timestamp begin_;
  Seconds after_{};
  std::string text_;
};

std::string platform_of(const results::Environment& environment) {
  const auto found = environment.identity.find("cpu.model");
  return found == environment.identity.end() ? "not recorded" : found->second;
}

}  // namespace

std::string mlperf_training_benchmark(const std::string& model) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNames{
      {{"resnet50", "resnet"},
       {"bert", "bert"},
       {"retinanet", "ssd"},  // the key of RetinaNet in that round
       {"3d-unet", "unet3d"},
       {"dlrm", "dlrm_dcnv2"}}};
  for (const auto& [prefix, name] : kNames) {
    if (model.starts_with(prefix)) {
      return std::string(name);
    }
  }
  return model;
}

std::string mlperf_training_log(const analysis::ModelInstance& instance,
                                const results::Execution& execution,
                                const results::Environment& environment) {
  const results::Measurement& row = execution.row;
  const Seconds sampled = std::accumulate(row.samples.begin(), row.samples.end(), Seconds{});
  const auto repetitions = static_cast<double>(row.repetitions);
  const Seconds timed = sampled * repetitions;
  const auto steps = static_cast<std::int64_t>(row.samples.size()) * row.repetitions;
  const std::int64_t batch = analysis::samples_of_step(instance);
  const std::int64_t samples = steps * batch;
  TrainingLog log(row.started);
  log.point("submission_benchmark", mlperf_training_benchmark(instance.model));
  log.point("submission_org", "unverified: not a submission");
  log.point("submission_division", "open");
  log.point("submission_status", "research");
  log.point("submission_platform", platform_of(environment));
  log.point("cache_clear", false);
  log.start("init_start");
  log.point("seed", 1);
  log.point("global_batch_size", batch);
  log.point("gradient_accumulation_steps", batch / instance.batch);
  log.point("train_samples", samples);
  log.point("eval_samples", 0);
  log.point("opt_name", instance.training.substr(0, instance.training.find_first_of(":+")));
  const Seconds began = std::max(Seconds{}, row.wall - timed);
  log.at(began);
  log.stop("init_stop");
  log.start("run_start");
  log.start("block_start", {{"first_epoch_num", 1}, {"epoch_count", 1}, {"samples_count", 0}});
  log.at(began + timed);
  log.point("tracked_stats",
            {{"throughput", static_cast<double>(samples) / timed.count()},
             {"step_seconds", row.summary.median.count()}},
            {{"epoch_num", 1}, {"step", steps}});
  log.stop("block_stop", {{"first_epoch_num", 1}, {"samples_count", samples}});
  log.stop("run_stop",
           {{"status", "aborted"},
            {"samples_count", samples},
            {"reason", "timed steps on one batch: there is no data set and no target"}});
  return log.take();
}

std::filesystem::path mlperf_training_file(const std::filesystem::path& folder,
                                           const analysis::ModelInstance& instance,
                                           const std::string& mode) {
  return mlperf_log_folder(folder, instance, mode, "training") / "result_0.txt";
}

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
