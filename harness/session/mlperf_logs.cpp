// SPDX-License-Identifier: Apache-2.0
#include "harness/session/mlperf_logs.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <fstream>
#include <functional>

#include "harness/base/error.hpp"
#include "harness/loadgen/mlperf_log.hpp"
#include "harness/session/build_facts.hpp"

namespace plumb {
namespace {

/// Returns a folder's name for any text. Other characters than letters, digits, '-' and '.' become
/// '_', and a name does not begin with '.'.
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

void write(const std::filesystem::path& file, const std::function<void(std::ostream&)>& content) {
  std::ofstream out(file, std::ios::binary);
  content(out);
  out.close();
  if (!out) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format("cannot write '{}': check the folder and the disk's space", file.string()));
  }
}

std::filesystem::path place_of(const std::filesystem::path& folder,
                               const ModelInstance& instance,
                               const std::string& scenario) {
  return folder / folder_name(subject_of(instance)) / folder_name(scenario);
}

void make_folder(const std::filesystem::path& place) {
  std::error_code error;
  std::filesystem::create_directories(place, error);
  if (error) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot make the folder '{}': {}", place.string(), error.message()));
  }
}

void write_summary_and_detail(const std::filesystem::path& place,
                              const LoadResult& result,
                              const MlperfLogFacts& facts) {
  make_folder(place);
  write(place / kMlperfSummaryFile, [&](std::ostream& out) { write_mlperf_summary(out, result); });
  write(place / kMlperfDetailFile,
        [&](std::ostream& out) { write_mlperf_detail(out, result, facts); });
}

}  // namespace

std::filesystem::path mlperf_accuracy_file(const std::filesystem::path& folder,
                                           const ModelInstance& instance,
                                           const std::string& scenario) {
  const std::filesystem::path place =
      std::filesystem::absolute(place_of(folder, instance, scenario)) / "accuracy";
  make_folder(place);
  return place / kMlperfAccuracyFile;
}

void write_mlperf_logs(const std::filesystem::path& folder,
                       const ModelInstance& instance,
                       const ScenarioResult& load) {
  PLUMB_CHECK(load.result.has_value());
  const std::filesystem::path scenario = place_of(folder, instance, load.scenario);
  const std::filesystem::path place = scenario / "performance" / "run_1";
  MlperfLogFacts facts{.program = fmt::format("Plumbline {}", kPlumbVersion),
                       .commit = kPlumbCommit,
                       .started = load.started,
                       .data_set = "seeded inputs",
                       .process_id = load.process,
                       .requested = load.requested};
  write_summary_and_detail(place, *load.result, facts);
  write(place / kMlperfAccuracyFile, [](std::ostream& out) { MlperfAccuracyLog(out).finish(); });
  if (load.accuracy) {
    facts.requested.mode = LoadMode::kAccuracy;
    write_summary_and_detail(scenario / "accuracy", *load.accuracy, facts);
  }
  spdlog::info("MLPerf's logs: {}", place.string());
}

}  // namespace plumb
