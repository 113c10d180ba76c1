// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/mlperf_logs.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <fstream>
#include <functional>

#include "harness/base/error.hpp"
#include "harness/plan/build_facts.hpp"
#include "harness/scenario/mlperf_log.hpp"

namespace plumb {
namespace {

/// Makes a name of any text that is one folder, and no other.
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

}  // namespace

void write_mlperf_logs(const std::filesystem::path& folder,
                       const ModelInstance& instance,
                       const LoadExecution& load) {
  PLUMB_CHECK(load.result.has_value());
  const std::filesystem::path place = folder / folder_name(subject_of(instance)) /
                                      folder_name(load.scenario) / "performance" / "run_1";
  std::error_code error;
  std::filesystem::create_directories(place, error);
  if (error) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot make the folder '{}': {}", place.string(), error.message()));
  }
  const MlperfLogFacts facts{.program = fmt::format("Plumbline {}", kPlumbVersion),
                             .started = to_text(load.started),
                             .data_set = "seeded inputs",
                             .process_id = load.process,
                             .requested = load.requested};
  write(place / kMlperfSummaryFile,
        [&](std::ostream& out) { write_mlperf_summary(out, *load.result); });
  write(place / kMlperfDetailFile,
        [&](std::ostream& out) { write_mlperf_detail(out, *load.result, facts); });
  write(place / kMlperfAccuracyFile, [](std::ostream& out) { MlperfAccuracyLog(out).finish(); });
  spdlog::info("MLPerf's logs: {}", place.string());
}

}  // namespace plumb
