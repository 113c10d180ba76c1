// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_matrix.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/analysis/report/run_kind.hpp"
#include "harness/base/error.hpp"
#include "harness/session/stored/enabling_command.hpp"
#include "harness/session/stored/named_runs.hpp"
#include "harness/session/stored/run_analysis.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::session {
namespace {

std::vector<results::RunRecord> named_runs(const store::Store& store,
                                           std::span<const std::string> names) {
  std::vector<results::RunRecord> found;
  std::set<results::RunId> seen;
  for (const std::string& name : names) {
    std::vector<results::RunRecord> runs =
        name == kAllRuns ? store.runs() : find_named_runs(store, name);
    if (name == kAllRuns) {
      std::erase_if(runs, [](const results::RunRecord& run) {
        return analysis::run_kind(run.header) != "run";
      });
      std::reverse(runs.begin(), runs.end());  // oldest first
    }
    for (results::RunRecord& run : runs) {
      if (seen.insert(run.header.id).second) {
        found.push_back(std::move(run));
      }
    }
  }
  return found;
}

std::vector<analysis::ModelResults> analyse_again(const Archive& archive,
                                                  const results::RunRecord& run) {
  spdlog::info("run {} keeps no results of its models: its rows are analysed", run.header.id);
  return summarize_models(analyze_run(archive, run, {}));
}

/// Returns the models of a run's suite, without results.
std::vector<analysis::ModelResults> models_of_suite(const results::RunRecord& run) {
  std::vector<analysis::ModelResults> models;
  for (const auto& [instance, scenarios] : scenarios_of_run(run)) {
    models.emplace_back().instance = instance;
  }
  return models;
}

analysis::MatrixRun read_run(const Archive& archive, results::RunRecord record) {
  analysis::MatrixRun run;
  run.state = record.state;
  const std::vector<results::DerivedRecord> kept =
      archive.store.derived(record.header.id, analysis::kModelResultsRecord);
  const bool complete = !record.header.resolved_suite.empty() || !kept.empty();
  const results::RunRecord whole =
      complete ? std::move(record) : archive.store.find_run(record.header.id);
  try {
    if (!analysis::is_point_of_history(whole.header)) {
      throw Error(Error::Kind::kUser, "it " + analysis::why_no_history(whole.header));
    }
    run.models = kept.empty() ? analyse_again(archive, whole)
                              : analysis::model_results_from_json(kept.back().payload);
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::kInternal) {
      throw;
    }
    run.problem = "run " + whole.header.id + ": " + error.what();
    run.models = models_of_suite(whole);
  }
  run.header = whole.header;
  run.header.resolved_suite.clear();
  return run;
}

}  // namespace

std::vector<analysis::MatrixRun> read_matrix_runs(const Archive& archive,
                                                  std::span<const std::string> names) {
  std::vector<analysis::MatrixRun> runs;
  for (results::RunRecord& record : named_runs(archive.store, names)) {
    runs.push_back(read_run(archive, std::move(record)));
  }
  if (runs.empty()) {
    throw Error(Error::Kind::kUser, "the store has no run of a suite: 'plumb run SUITE' makes one");
  }
  return runs;
}

std::vector<analysis::MatrixReport::MissingCommand> commands_for_missing(
    const store::Store& store,
    std::span<const analysis::MatrixRun> runs,
    const analysis::Matrix& matrix) {
  struct Wanted {
    std::size_t run = 0;
    analysis::ModelInstance instance;
    std::string mode;
    auto operator<=>(const Wanted&) const = default;
  };
  std::map<Wanted, std::size_t> wanted;
  for (const analysis::Matrix::Row& row : matrix.rows) {
    for (const analysis::MatrixCell& cell : row.cells) {
      const analysis::MissingValue& missing = cell.missing;
      if (!cell.value && !missing.mode.empty() && missing.run && missing.instance) {
        ++wanted[{*missing.run, *missing.instance, missing.mode}];
      }
    }
  }
  std::map<std::size_t, results::RunHeader> headers;
  std::map<std::string, std::size_t> commands;
  for (const auto& [each, cells] : wanted) {
    const results::RunId& id = runs[each.run].header.id;
    auto header = headers.find(each.run);
    if (header == headers.end()) {
      header = headers.emplace(each.run, store.find_run(id).header).first;
    }
    commands[enabling_command(header->second, each.instance, each.mode)] += cells;
  }
  std::vector<analysis::MatrixReport::MissingCommand> list;
  for (const auto& [command, cells] : commands) {
    list.push_back({command, cells});
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& one, const auto& other) {
    return one.cells > other.cells;
  });
  return list;
}

}  // namespace plumb::session
