// SPDX-License-Identifier: Apache-2.0
#include "harness/session/run/model_runs.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/alternation/shape_latencies.hpp"
#include "harness/base/error.hpp"
#include "harness/results/execution.hpp"
#include "harness/rewrite/quantized_graph.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/executor.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/session/work/worker_requests.hpp"

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
/// refused. `subject` is the last of the shapes. A process stores all of them at once, and one of
/// an earlier version stored that one last.
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
  result.times.assign(shapes.size(), analysis::ShapeTimes{{results::SeriesName::Turn::kFirst, {}}});
  const auto order = analysis::parse_alternation_order(shapes.front().alternation->order);
  PLUMB_CHECK(order.has_value());
  worker::Alternation::Request request;
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

/// Executes the shapes of a suite's models one after the other, in each mode (none given: fusion),
/// in one more worker process, unless `processes` processes of the run did so or the backend
/// refused. Modes that rest on variants or scales of one shape are left out.
///
/// Only models are executed of which the first shape is `chosen`, by index. The times of each shape
/// are stored as the run's records of kind "alternation", one for each turn. A failure is one
/// record of the first turn. Returns false if `stopped`, asked before each, or the user ended the
/// work.
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
    const std::string last = analysis::subject_of(models[shapes.back()].instance);
    std::vector<suite::ResolvedSuite::Model> named;
    for (const std::size_t shape : shapes) {
      named.push_back(suite.models[shape]);
    }
    for (const results::ExecutionMode& mode :
         modes.empty() ? std::vector<results::ExecutionMode>{{.fusion = true}} : modes) {
      const bool typed_already = !mode.other_type().empty() && first.dtype != "f32";
      if (typed_already || is_of_one_shape(mode) ||
          is_done(context.store, run, last, to_text(mode), processes)) {
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

// For each mode. Many processes follow the first, so each of them may be less exact.
constexpr measure::SamplingPlan kFirstSampling{.budget = Seconds(0.6)};
constexpr measure::SamplingPlan kRepeatedSampling{.warm_up_at_most = Seconds(0.02),
                                                  .budget = Seconds(0.1)};

/// Lists the processes of a run that executed a model, by mode. One that had no time counts: in the
/// same run it would have none again.
std::map<std::string, std::set<std::int64_t>> processes_by_mode(const store::Store& store,
                                                                const results::RunId& run,
                                                                const std::string& subject) {
  std::map<std::string, std::set<std::int64_t>> processes;
  for (const results::DerivedRecord& record : store.derived(run, results::kExecutionRecord)) {
    if (record.subject == subject) {
      const results::Execution execution = results::execution_from_json(record.payload);
      processes[execution.mode].insert(execution.row.process);
    }
  }
  return processes;
}

/// Returns whether enough processes of a run have executed every mode. A process times all modes in
/// turns.
bool has_all(const std::map<std::string, std::set<std::int64_t>>& done,
             const std::vector<worker::ModeRequest>& modes,
             std::size_t processes) {
  return std::all_of(modes.begin(), modes.end(), [&](const worker::ModeRequest& request) {
    const auto found = done.find(to_text(request.mode));
    return found != done.end() && found->second.size() >= processes;
  });
}

}  // namespace

ModelRuns::ModelRuns(const SessionContext& context,
                     Executor& executor,
                     const results::RunId& run,
                     const suite::ResolvedSuite& suite,
                     std::span<const PlannedModel> models,
                     std::vector<std::size_t> chosen,
                     WantedModes modes)
    : context_(context),
      executor_(executor),
      run_(run),
      suite_(suite),
      models_(models),
      mine_(std::move(chosen)),
      modes_(std::move(modes)) {
  PLUMB_CHECK(suite.models.size() == models.size());
}

std::vector<std::size_t> models_of_shard(std::span<const PlannedModel> models,
                                         const WorkSource::Shard& shard) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < models.size(); ++i) {
    // An int8 model is executed as a mode of the f32 model, from which its scales are made.
    if (i % shard.count == shard.index - 1 && models[i].instance.dtype != rewrite::kInt8) {
      chosen.push_back(i);
    }
  }
  return chosen;
}

bool ModelRuns::execute(std::size_t processes, const std::function<bool()>& stopped) {
  std::vector<std::size_t> order = mine_;
  if (processes > 1) {
    // A new order in each process spreads the times of a model over the run.
    shuffle_for(run_, processes, order);
  }
  const bool whole = std::all_of(order.begin(), order.end(), [&](std::size_t index) {
    return execute_one(index, processes, stopped);
  });
  return whole &&
         (!modes_.alternations ||
          execute_alternations(
              context_, executor_, run_, suite_, models_, mine_, modes_.modes, processes, stopped));
}

bool ModelRuns::execute_again(const std::set<std::string>& subjects,
                              std::size_t round,
                              const std::function<bool()>& stopped) {
  std::vector<std::size_t> order = mine_;
  shuffle_for(run_, round, order);
  return std::all_of(order.begin(), order.end(), [&](std::size_t index) {
    return !subjects.contains(analysis::subject_of(models_[index].instance)) ||
           (!stopped() && execute_once(index, request_for(index, false)));
  });
}

worker::ExecuteRequest ModelRuns::request_for(std::size_t index, bool first) {
  if (!requests_.contains(index)) {
    requests_[index] = mode_requests(models_[index], read_result_set(context_.store, run_), modes_);
  }
  worker::ExecuteRequest request = make_execute_request(context_.models, suite_.models[index]);
  request.modes = requests_.at(index);
  request.profile = first;
  request.verify = first;
  request.sampling = first ? kFirstSampling : kRepeatedSampling;
  return request;
}

bool ModelRuns::execute_one(std::size_t index,
                            std::size_t processes,
                            const std::function<bool()>& stopped) {
  const analysis::ModelInstance& instance = models_[index].instance;
  const worker::ExecuteRequest request = request_for(index, processes == 1);
  if (has_all(processes_by_mode(context_.store, run_, analysis::subject_of(instance)),
              request.modes,
              processes)) {
    return true;
  }
  if (stopped()) {
    return false;
  }
  spdlog::info("end to end {}/{}: {}, {} modes, process {}",
               index + 1,
               models_.size(),
               to_text(instance, ", "),
               request.modes.size(),
               processes);
  return execute_once(index, request);
}

bool ModelRuns::execute_once(std::size_t index, const worker::ExecuteRequest& request) {
  const std::vector<results::Execution> executions = executed_model(index, request);
  std::vector<std::pair<std::string, std::string>> records;
  records.reserve(executions.size());
  for (const results::Execution& execution : executions) {
    records.emplace_back(analysis::subject_of(models_[index].instance), to_json(execution));
  }
  put_run_records(context_.store, run_, results::kExecutionRecord, records);
  return !executions.empty();  // stopped by the user: the model begins anew when it is resumed
}

/// Executes a model and shows its progress. Empty: the user stopped it.
std::vector<results::Execution> ModelRuns::executed_model(std::size_t index,
                                                          const worker::ExecuteRequest& request) {
  ProgressDisplay::Stage stage(context_.progress);
  const auto show = [&](const worker::ExecuteRequest::Progress& progress) {
    constexpr double kKnown = 0.01;  // below, the model is prepared: nobody knows how long it takes
    std::optional<Seconds> left;
    if (progress.share >= kKnown) {
      left = progress.elapsed * ((1.0 - progress.share) / progress.share);
    }
    stage.show({.done = static_cast<std::size_t>(progress.share * 100.0),
                .total = 100,
                .unit = "% of " + request.name,
                .current = {},
                .elapsed = progress.elapsed,
                .left = left});
  };
  if (profiles_ == nullptr) {
    return executor_.execute_model(request, show);
  }
  worker::ExecuteRequest sampled = request;
  sampled.sampled = profiles_->next_request();
  return executor_.execute_model(
      sampled, show, [&](const results::ExecutionMode& mode, worker::Profile profile) {
        profiles_->take(index, mode, std::move(profile));
      });
}

}  // namespace plumb::session
