// SPDX-License-Identifier: Apache-2.0
#include "harness/session/run/alternation_runs.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/alternation/shape_latencies.hpp"
#include "harness/base/error.hpp"
#include "harness/results/execution.hpp"
#include "harness/session/stored/run_record.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::session {
namespace {

static_assert(suite::kMaxShapes == worker::kMaxAlternatedShapes);

// Of each shape behind another, and as many behind itself, in each of a run's processes.
constexpr std::size_t kExecutions = 10;

/// Models of a suite that are one model in several shapes, by index.
using Shapes = std::vector<std::size_t>;

/// Lists the shapes that alternate, of which the first is chosen.
std::vector<Shapes> list_alternations(const suite::ResolvedSuite& suite,
                                      std::span<const std::size_t> chosen) {
  std::map<std::int64_t, Shapes> groups;
  for (std::size_t i = 0; i < suite.models.size(); ++i) {
    if (const auto& alternation = suite.models[i].alternation) {
      groups[alternation->group].push_back(i);
    }
  }
  std::vector<Shapes> all;
  for (const auto& [group, shapes] : groups) {
    if (std::find(chosen.begin(), chosen.end(), shapes.front()) != chosen.end()) {
      all.push_back(shapes);
    }
  }
  return all;
}

/// Returns whether a mode rests on variants or scales that were measured of one shape.
bool is_of_one_shape(const results::ExecutionMode& mode) {
  return mode.best_variant || mode.micro_batch || mode.int8;
}

/// Returns whether enough processes of a run have executed shapes among each other, or the backend
/// refused. `subject` is one of the shapes: a process stores all of them at once.
bool is_done(const store::Store& store,
             const results::RunId& run,
             const std::string& subject,
             const std::string& mode,
             std::size_t processes) {
  std::set<std::int64_t> seen;
  for (const results::DerivedRecord& record : store.derived(run, results::kAlternationRecord)) {
    if (record.subject != subject) {
      continue;
    }
    const results::Execution execution = results::execution_from_json(record.payload);
    if (execution.mode != mode) {
      continue;
    }
    if (execution.row.outcome.kind == results::Outcome::Kind::kUnsupported) {
      return true;
    }
    if (execution.row.outcome.timed()) {
      seen.insert(execution.row.process);
    }
  }
  return seen.size() >= processes;
}

/// Shapes of one model, executed one after the other in one worker process.
struct AlternatedShapes {
  results::Measurement row;                 ///< what the rows of all of them share
  std::vector<analysis::ShapeTimes> times;  ///< by shape; of a failure: a first turn without times
};

AlternatedShapes alternate(const ModelSource& source,
                           Executor& executor,
                           std::span<const suite::ResolvedSuite::Model> shapes,
                           const results::ExecutionMode& mode,
                           std::uint64_t seed) {
  AlternatedShapes result;
  result.row.key.text = "model:" + shapes.front().name;
  result.times.assign(shapes.size(), analysis::ShapeTimes{{results::ShapeTurn::kFirst, {}}});
  const auto order = analysis::parse_alternation_order(shapes.front().alternation->order);
  PLUMB_CHECK(order.has_value());
  worker::AlternateRequest request;
  try {
    request = make_alternate_request(source, shapes, mode);
  } catch (const Error& refusal) {
    if (refusal.kind() != Error::Kind::kUser) {
      throw;
    }
    result.row.started = current_time();
    result.row.outcome = {results::Outcome::Kind::kUnsupported, refusal.what()};
    return result;
  }
  request.order = analysis::make_alternation(shapes.size(), kExecutions, *order, seed);
  if (const auto executed = executor.alternate(request, result.row)) {
    result.times = analysis::sort_alternation(shapes.size(), request.order, executed->seconds);
    if (executed->one_program) {
      result.row.creation = executed->preparation;
    }
  }
  return result;
}

}  // namespace

bool execute_alternations(const SessionContext& context,
                          Executor& executor,
                          const results::RunId& run,
                          const suite::ResolvedSuite& suite,
                          std::span<const PlannedModel> models,
                          std::span<const std::size_t> chosen,
                          const std::vector<results::ExecutionMode>& modes,
                          std::size_t processes,
                          const std::function<bool()>& stopped) {
  PLUMB_CHECK(suite.models.size() == models.size());
  for (const Shapes& shapes : list_alternations(suite, chosen)) {
    const analysis::ModelInstance& first = models[shapes.front()].instance;
    std::vector<suite::ResolvedSuite::Model> named;
    for (const std::size_t shape : shapes) {
      named.push_back(suite.models[shape]);
    }
    for (const results::ExecutionMode& mode :
         modes.empty() ? std::vector<results::ExecutionMode>{{.fusion = true}} : modes) {
      const bool typed_already = !mode.other_type().empty() && first.dtype != "f32";
      if (typed_already || is_of_one_shape(mode) ||
          is_done(context.store, run, analysis::subject_of(first), to_text(mode), processes)) {
        continue;
      }
      if (stopped()) {
        return false;
      }
      spdlog::info("{} shapes of {}, {}, {}, process {}",
                   shapes.size(),
                   first.model,
                   first.dtype,
                   to_text(mode),
                   processes);
      const AlternatedShapes alternated =
          alternate(context.models, executor, named, mode, processes);
      const results::Outcome& outcome = alternated.row.outcome;
      if (outcome.kind == results::Outcome::Kind::kSkipped) {
        return false;  // stopped by the user: it begins anew when the run is resumed
      }
      if (!outcome.timed()) {
        spdlog::warn("the shapes of {} do not alternate in the mode {}: {}: {}",
                     first.model,
                     to_text(mode),
                     to_text(outcome.kind),
                     outcome.reason);
      }
      std::vector<std::pair<std::string, std::string>> records;
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        for (const auto& [turn, seconds] : alternated.times[i]) {
          results::Execution execution;
          execution.mode = to_text(mode);
          execution.turn = turn;
          execution.row = alternated.row;
          execution.row.samples = seconds;
          execution.row.summary = measure::summarize(seconds);
          records.emplace_back(analysis::subject_of(models[shapes[i]].instance),
                               to_json(execution));
        }
      }
      put_run_records(context.store, run, results::kAlternationRecord, records);
    }
  }
  return true;
}

}  // namespace plumb::session
