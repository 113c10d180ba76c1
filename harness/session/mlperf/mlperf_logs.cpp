// SPDX-License-Identifier: Apache-2.0
#include "harness/session/mlperf/mlperf_logs.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <fstream>
#include <sstream>

#include "harness/base/error.hpp"
#include "harness/base/whole_file.hpp"
#include "harness/loadgen/mlperf/mlperf_log.hpp"
#include "harness/results/execution_mode.hpp"
#include "harness/session/host/build_facts.hpp"

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
    facts.requested.mode = loadgen::LoadMode::kAccuracy;
    write_summary_and_detail(scenario / "accuracy", *load.accuracy, facts);
  }
  spdlog::info("MLPerf's logs: {}", place.string());
}

}  // namespace plumb::session
