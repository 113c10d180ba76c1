// SPDX-License-Identifier: Apache-2.0
#include "harness/session/profile/run_profiles.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/profile/merged_profile.hpp"
#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/importers/symbols/code_finder.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/worker/protocol/requests.hpp"

namespace plumb::session {
namespace {

constexpr std::size_t kNamedLayers = 3;

/// Names a step by its layers.
std::string name_step(const model::Graph& graph, const results::SampledProfile::Step& step) {
  std::vector<std::string> names;
  for (const std::size_t layer : step.layers) {
    if (layer >= graph.layers.size()) {
      throw Error(Error::Kind::kInternal,
                  fmt::format("the worker profiled layer {} of a model of {}; please report this",
                              layer,
                              graph.layers.size()));
    }
    names.push_back(graph.layers[layer].name);
  }
  const std::size_t more = names.size() > kNamedLayers ? names.size() - kNamedLayers : 0;
  names.resize(names.size() - more);
  const std::string layers =
      fmt::format("{}{}", fmt::join(names, "+"), more > 0 ? fmt::format("+{} more", more) : "");
  if (step.layers.empty()) {
    return "(outputs)";
  }
  return step.reorder ? fmt::format("{} (reorder)", layers) : layers;
}

}  // namespace

RunProfiles::Sampled sample_model(const worker::WorkerProcess::Options& options,
                                  const worker::Profile::Request& request,
                                  Seconds timeout,
                                  const std::function<bool()>& keep_running) {
  const Seconds begin = steady_time();
  worker::WorkerProcess worker(options);
  worker::Profile::Request asked = request;
  if (request.within) {
    asked.within = std::max(Seconds(0.0), *request.within - (steady_time() - begin));
  }
  worker::Profile taken = worker.profile(asked, request.budget + timeout, keep_running);
  RunProfiles::Sampled sampled{std::move(taken.samples), {}};
  for (const std::string& file : taken.code_files) {
    sampled.dumps.push_back(request.folder / file);
  }
  return sampled;
}

results::NamedProfile name_profile(const RunProfiles::Sampled& sampled,
                                   const worker::WorkerProcess::Options& options,
                                   const results::ExecutionMode& mode,
                                   const PlannedModel& planned) {
  importers::CodeFinder finder(sampled.samples.mappings, sampled.dumps);
  results::NamedProfile profile =
      analysis::name_samples(sampled.samples, importers::read_code_names(sampled.samples, finder));
  profile.model = analysis::to_text(planned.instance, ", ");
  profile.mode = to_text(mode);
  profile.stack = options.stack.name;
  std::transform(
      profile.steps.begin(),
      profile.steps.end(),
      profile.step_names.begin(),
      [&](const results::SampledProfile::Step& step) { return name_step(planned.graph, step); });
  profile.listings = importers::list_hottest_code(sampled.samples, finder, profile.step_names);
  return profile;
}

results::NamedProfile profile_model(const worker::WorkerProcess::Options& options,
                                    const worker::Profile::Request& request,
                                    Seconds timeout,
                                    const PlannedModel& planned,
                                    const std::function<bool()>& keep_running) {
  return name_profile(sample_model(options, request, timeout, keep_running),
                      options,
                      request.model.modes.at(0).mode,
                      planned);
}

namespace {

constexpr Seconds kBlock{0.05};     ///< of whole executions, at least
constexpr Seconds kTimeout{120.0};  ///< beside the expected time

/// Returns what enough pairs of blocks of a model's executions take.
Seconds least_executions(Seconds execution) {
  constexpr double kSpread = 1.2;  // executions differ
  constexpr Seconds kShortest{1e-7};
  const Seconds block = execution * std::ceil(kBlock / std::max(execution, kShortest));
  return kSpread * 2.0 * static_cast<double>(worker::kMinProfilePairs) * std::max(kBlock, block);
}

/// Returns how long a model's operands take to fill and bring into their layouts, beside others.
double size_of(Bytes memory) {
  constexpr double kNone = 20e6;  // bytes that take as long as what every worker does
  return kNone + static_cast<double>(memory.value);
}

/// Returns the timed executions of a model of the run.
std::vector<results::Execution> read_executions(const store::Store& store,
                                                const results::RunId& run,
                                                const std::string& subject) {
  std::vector<results::Execution> executions;
  for (const results::DerivedRecord& record : store.derived(run, results::kExecutionRecord)) {
    if (record.subject == subject) {
      executions.push_back(results::execution_from_json(record.payload));
    }
  }
  std::erase_if(executions, [](const auto& each) { return !each.row.outcome.timed(); });
  return executions;
}

}  // namespace

int rank_profiled_mode(const results::ExecutionMode& mode) {
  const std::string text = to_text(mode);
  return text == "fusion" ? 2 : text == "plain" ? 1 : 0;
}

std::vector<RunProfiles::Model> RunProfiles::find_models(std::vector<std::size_t> chosen) const {
  std::set<std::string> profiled;
  for (const results::StoredProfile& profile : context_.store.profiles(run_)) {
    profiled.insert(profile.subject);
  }
  const analysis::ResultSet results = read_result_set(context_.store, run_);
  shuffle_for(run_, 0, chosen);
  std::vector<Model> found;
  for (const std::size_t index : chosen) {
    const std::string subject = analysis::subject_of(models_[index].instance);
    std::optional<Model> best;
    const auto executions = read_executions(context_.store, run_, subject);
    for (const worker::ModeRequest& mode : mode_requests(models_[index], results, modes_)) {
      const auto timed =
          std::find_if(executions.begin(), executions.end(), [&](const results::Execution& each) {
            return each.mode == to_text(mode.mode);
          });
      if (timed != executions.end() &&
          (!best || rank_profiled_mode(mode.mode) > rank_profiled_mode(best->mode.mode))) {
        const results::Measurement& row = timed->row;
        // It is executed twice before the first block.
        best = Model{index,
                     mode,
                     workers_.longest_start + row.creation.value_or(Seconds{}) +
                         row.first_call.value_or(Seconds{}) + 2.0 * row.summary.median,
                     least_executions(row.summary.median),
                     size_of(timed->memory)};
      }
    }
    if (best && !profiled.contains(subject)) {
      found.push_back(*std::move(best));
    }
  }
  return found;
}

void RunProfiles::profile(const Model& model, Seconds budget, Seconds end) {
  const Seconds begin = steady_time();
  const PlannedModel& planned = models_[model.index];
  const RawFolder folder("");
  worker::Profile::Request request;
  request.model = make_execute_request(context_.models, suite_.models[model.index]);
  request.model.modes = {model.mode};
  request.model.verify = false;
  request.folder = folder.path();
  request.rate = kPassRate;
  request.budget = std::min(budget, worker::kMaxProfileBudget);
  request.within =
      std::clamp(end - afterwards_ - steady_time(), Seconds(0.0), worker::kMaxProfileBudget);
  const auto keep_running = [&] { return !context_.stop.load() && steady_time() < end; };
  const RunProfiles::Sampled sampled =
      sample_model(workers_.options, request, kTimeout, keep_running);
  const Seconds answered = steady_time();
  Seconds executed{};
  for (const results::SampledProfile::Block& block : sampled.samples.blocks) {
    executed += block.sampled + block.unsampled;
  }
  unforeseen_ += answered - begin - executed - model.preparation;
  observed_ += model.size;
  results::StoredProfile stored;
  stored.run = run_;
  stored.subject = analysis::subject_of(planned.instance);
  stored.profile =
      results::condense_profile(name_profile(sampled, workers_.options, model.mode.mode, planned));
  stored.taken = current_time();
  context_.store.put_profile(stored);
  afterwards_ = std::max(afterwards_, steady_time() - answered);
}

std::string RunProfiles::try_profile(const Model& model, Seconds share, Seconds end) {
  const std::string subject = analysis::subject_of(models_[model.index].instance);
  try {
    profile(model, std::max(model.least, executing(model, share)), end);
    return {};
  } catch (const worker::WorkerDied& death) {
    if (!context_.stop.load() && steady_time() >= end) {
      return fmt::format("{} was not prepared and executed when the time of the pass ended",
                         subject);
    }
    return death.outcome().reason;
  } catch (const Error& error) {
    return fmt::format("{}: {}", subject, error.what());
  }
}

RunProfiles::Record RunProfiles::take(std::vector<std::size_t> chosen, Seconds allowed) {
  const Seconds begin = steady_time();
  const std::vector<Model> models = find_models(std::move(chosen));
  RunProfiles::Record record;
  record.models = models.size();
  record.allowed = allowed;
  std::size_t waiting = models.size();
  std::size_t without_time = 0;
  for (const Model& model : models) {
    const Seconds left = allowed - (steady_time() - begin);
    const Seconds share = left / static_cast<double>(waiting--);
    if (context_.stop.load() || executing(model, left) < model.least) {
      ++without_time;
      continue;
    }
    const std::string problem = try_profile(model, share, begin + allowed);
    record.profiled += problem.empty() ? 1U : 0U;
    record.reason = problem.empty() ? record.reason : problem;
  }
  record.spent = steady_time() - begin;
  if (without_time > 0 && record.reason.empty()) {
    record.reason = fmt::format("{} of {} models would take longer than the {:.2g} s of the pass",
                                without_time,
                                models.size(),
                                allowed.count());
  }
  return record;
}

worker::ExecuteRequest::Sampling RunProfiles::Timed::next_request() {
  folder_.emplace("");
  return {kTimedRate, folder_->path()};
}

void RunProfiles::Timed::take(std::size_t index,
                              const results::ExecutionMode& mode,
                              worker::Profile profile) {
  RunProfiles::Sampled sampled{std::move(profile.samples), {}};
  for (const std::string& file : profile.code_files) {
    sampled.dumps.push_back(folder_->path() / file);
  }
  results::NamedProfile named = name_profile(sampled, worker_, mode, models_[index]);
  const auto [known, added] = profiles_.try_emplace({index, mode}, std::move(named));
  if (!added) {
    analysis::merge_profile(named, known->second);
  }
}

RunProfiles::Record RunProfiles::Timed::store(std::size_t models) {
  std::vector<std::pair<std::size_t, results::ExecutionMode>> order;
  std::set<std::size_t> profiled;
  for (const auto& [of, profile] : profiles_) {
    order.push_back(of);
    profiled.insert(of.first);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& left, const auto& right) {
    return rank_profiled_mode(left.second) < rank_profiled_mode(right.second);
  });
  for (const auto& of : order) {
    context_.store.put_profile({run_,
                                analysis::subject_of(models_[of.first].instance),
                                current_time(),
                                results::condense_profile(std::move(profiles_.at(of)))});
  }
  profiles_.clear();
  RunProfiles::Record record;
  record.models = models;
  record.profiled = profiled.size();
  if (record.profiled < models) {
    record.reason = fmt::format("{} of {} models were not timed, or their samples were lost",
                                models - record.profiled,
                                models);
  }
  return record;
}

}  // namespace plumb::session
