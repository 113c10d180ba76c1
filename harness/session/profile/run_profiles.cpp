// SPDX-License-Identifier: Apache-2.0
#include "harness/session/profile/run_profiles.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/profile/stored_profile.hpp"
#include "harness/session/host/raw_folder.hpp"
#include "harness/session/profile/model_profile.hpp"
#include "harness/session/work/random_order.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::session {
namespace {

constexpr Seconds kWorkerStart{0.3};   ///< of a process and its library
constexpr Seconds kLeastSampled{0.7};  ///< six pairs of blocks, so that shares have intervals
constexpr Seconds kTimeout{120.0};     ///< beside the expected time

/// Returns how much a mode says of a run's models: the higher, the better.
int rank_mode(const results::ExecutionMode& mode) {
  const std::string text = to_text(mode);
  return text == "fusion" ? 2 : text == "plain" ? 1 : 0;
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
          (!best || rank_mode(mode.mode) > rank_mode(best->mode.mode))) {
        best = Model{index,
                     mode,
                     kWorkerStart + timed->row.creation.value_or(Seconds{}) +
                         timed->row.first_call.value_or(Seconds{})};
      }
    }
    if (best && !profiled.contains(subject)) {
      found.push_back(*std::move(best));
    }
  }
  return found;
}

void RunProfiles::profile(const Model& model, Seconds budget) {
  const PlannedModel& planned = models_[model.index];
  const RawFolder folder("");
  worker::ProfileRequest request;
  request.model = make_execute_request(context_.models, suite_.models[model.index]);
  request.model.modes = {model.mode};
  request.model.verify = false;
  request.folder = folder.path();
  request.rate = kPassRate;
  request.budget = budget;
  results::StoredProfile stored;
  stored.run = run_;
  stored.subject = analysis::subject_of(planned.instance);
  stored.profile = results::join_blocks(
      profile_model(worker_, request, kTimeout, planned, [this] { return !context_.stop.load(); }));
  stored.taken = current_time();
  context_.store.put_profile(stored);
}

ProfilingRecord RunProfiles::take(std::vector<std::size_t> chosen, Seconds allowed) {
  const Seconds begin = steady_time();
  const std::vector<Model> models = find_models(std::move(chosen));
  ProfilingRecord record;
  record.models = models.size();
  record.allowed = allowed;
  std::size_t waiting = models.size();
  std::size_t without_time = 0;
  for (const Model& model : models) {
    const Seconds left = allowed - (steady_time() - begin);
    const Seconds share = left / static_cast<double>(waiting--);
    if (context_.stop.load() || left < model.preparation + kLeastSampled) {
      ++without_time;
      continue;
    }
    try {
      profile(model, std::max(kLeastSampled, share - model.preparation));
      ++record.profiled;
    } catch (const worker::WorkerDied& death) {
      record.reason = death.outcome().reason;
    } catch (const Error& error) {
      record.reason = error.what();
    }
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

}  // namespace plumb::session
