// SPDX-License-Identifier: Apache-2.0
#include "harness/session/run/suite_run_setup.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/results/results_json.hpp"
#include "harness/session/host/system_facts.hpp"
#include "harness/session/host/user_paths.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/stacks/built/bounded_program.hpp"
#include "harness/stacks/built/git_repository.hpp"

namespace plumb::session {
namespace {

std::optional<Timestamp> oldest_reusable(const suite::ReusePolicy& policy) {
  if (policy.kind == suite::ReusePolicy::Kind::kMaxAge) {
    return current_time() - std::chrono::duration_cast<std::chrono::microseconds>(policy.max_age);
  }
  return std::nullopt;
}

}  // namespace

std::vector<WorkItem> reuse_rows(store::Store& store,
                                 const RunSession& session,
                                 const suite::ResolvedSuite& suite,
                                 std::vector<WorkItem> items) {
  if (suite.reuse.kind == suite::ReusePolicy::Kind::kNever) {
    return items;
  }
  for (const results::CacheMode cache : suite.caches) {
    std::vector<model::LayerKey> keys;
    for (const WorkItem& item : items) {
      if (std::find(item.caches.begin(), item.caches.end(), cache) != item.caches.end()) {
        keys.push_back(item.key);
      }
    }
    const std::vector<results::StoredMeasurement> found = store.reusable(
        session.header().environment.id(), keys, cache, oldest_reusable(suite.reuse));
    std::vector<results::RowId> rows(found.size());
    std::transform(
        found.begin(), found.end(), rows.begin(), [](const results::StoredMeasurement& row) {
          return row.row;
        });
    store.link_reused(session.id(), rows);
    items = without_measured(std::move(items), found);
  }
  return items;
}

void calibrate_run(store::Store& store,
                   const RunSession& session,
                   const suite::ReusePolicy& reuse,
                   Executor& executor) {
  const std::string environment = session.header().environment.id();
  const auto known = store.latest_calibration(environment);
  const bool may_stand = reuse.kind == suite::ReusePolicy::Kind::kAlways ||
                         (reuse.kind == suite::ReusePolicy::Kind::kMaxAge && known &&
                          known->computed >= *oldest_reusable(reuse));
  if (known && (may_stand || known->run == session.id())) {
    return;
  }
  spdlog::info("calibrating: arithmetic peak and memory bandwidth");
  put_run_record(store,
                 session.id(),
                 results::kCalibrationRecord,
                 environment,
                 to_json(executor.calibrate()));
}

bool control_run(store::Store& store, const RunSession& session, Executor& executor) {
  std::optional<results::Controls> controls = executor.measure_controls();
  if (controls) {
    controls->host = measuring_host(session.header().environment);
    put_run_record(store,
                   session.id(),
                   results::kControlsRecord,
                   session.header().environment.facts.at("boot.id"),
                   to_json(*controls));
  }
  return controls.has_value();
}

namespace {

namespace fs = std::filesystem;

/// Returns where the log of a command is kept: the last one of each command and folder.
fs::path log_of(const std::string& command, const fs::path& folder) {
  const fs::path logs = cache_folder() / "build-logs";
  std::error_code ignored;
  fs::create_directories(logs, ignored);
  return fs::absolute(logs) / (sha256(folder.string() + '\n' + command).substr(0, 24) + ".log");
}

}  // namespace

std::optional<BuiltStack> build_stack(const stacks::BuildRecipe& recipe,
                                      const std::atomic<bool>& stop,
                                      ProgressDisplay& display) {
  const std::string& command = recipe.command;
  const fs::path folder = fs::absolute(recipe.stack_folder).lexically_normal();
  const fs::path log = log_of(command, fs::current_path());
  ProgressStage stage(display);
  const stacks::ProgramEnd end = stacks::run_build(
      command, fs::current_path(), recipe.time_limit, log, stop, [&](Seconds elapsed) {
        stage.show({.done = 0,
                    .total = 1,
                    .unit = "builds",
                    .current = command,
                    .elapsed = elapsed,
                    .left = std::nullopt});
      });
  if (end.stopped) {
    return std::nullopt;
  }
  if (!end.problem.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("the build command '{}' {}; its log '{}' ends: {}",
                            command,
                            end.problem,
                            log.string(),
                            fmt::join(end.tail, " | ")));
  }
  BuiltStack built;
  built.stack = worker_options({folder.string()}).stack.name;
  if (const std::optional<std::string> commit = stacks::commit_of_folder(built.stack)) {
    built.labels.emplace("commit", *commit);
  }
  return built;
}

}  // namespace plumb::session
