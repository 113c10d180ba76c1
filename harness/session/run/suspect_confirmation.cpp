// SPDX-License-Identifier: Apache-2.0
#include "harness/session/run/suspect_confirmation.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/results/results_json.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/paired/paired_suspects.hpp"
#include "harness/session/stored/stored_comparison.hpp"
#include "harness/session/stored/stored_confirmation.hpp"
#include "harness/session/work/random_order.hpp"

namespace plumb::session {
namespace {

constexpr Seconds kMinConfirmation{45.0};
constexpr double kConfirmationShare = 0.25;  // of a run's time
constexpr std::size_t kMinFreshProcesses = 3;

}  // namespace

std::vector<Confirmation> unconfirmed_keys(const store::Store& store,
                                           const results::RunId& run,
                                           std::size_t processes) {
  std::vector<results::StoredMeasurement> rows = store.measurements(run);
  std::erase_if(rows, [](const results::StoredMeasurement& row) { return row.reused; });
  ConfirmationRule rule = ExecutorOptions().confirmation;
  rule.processes = processes;
  return confirmations(rows, rule);
}

std::int64_t last_process(const store::Store& store, const results::RunId& run) {
  std::int64_t last = 0;
  for (const results::StoredMeasurement& row : store.measurements(run)) {
    last = std::max(last, row.reused ? 0 : row.measurement.process);
  }
  for (const char* const kind : {results::kExecutionRecord, results::kAlternationRecord}) {
    for (const results::DerivedRecord& record : store.derived(run, kind)) {
      last = std::max(last, results::execution_from_json(record.payload).row.process);
    }
  }
  return last;
}

void SuspectConfirmation::confirm(Seconds start, int threads, ModelRuns& runs) {
  if (!confirm_in_pairs(start, threads)) {
    confirm_alone(start, runs);
  }
}

/// Finds what the run must confirm. Empty if the runs are unlike, which their comparison reports.
analysis::Suspects SuspectConfirmation::suspects(analysis::SuspectRule rule) const {
  try {
    return stored_suspects(
        {context_.store, context_.models}, plan_.baseline, session_.id(), plan_.varied, rule);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::kRefused) {
      throw;
    }
    return {};
  }
}

/// Measures suspects in pairs with the baseline's stack. Returns false if that is not at hand. No
/// pair begins after a quarter of the run's time, or kMinConfirmation if that is longer.
bool SuspectConfirmation::confirm_in_pairs(Seconds start, int threads) {
  const results::RunHeader before = context_.store.find_run(plan_.baseline).header;
  const std::string& device = executor_.options().worker.device;
  if (!is_at_hand(before, threads, device)) {
    return false;
  }
  const analysis::Suspects slower = suspects(analysis::SuspectRule::kSlower);
  if (slower.empty()) {
    return true;
  }
  spdlog::info("{} may be slower: {} models and {} layers are measured in pairs with {}",
               slower.series.size(),
               slower.subjects().size(),
               slower.layers.size(),
               before.stack);
  executor_.end_worker();
  PairedSuspects pairs(context_, suite_, models_, slower);
  pairs.row_timeout = executor_.options().row_timeout;
  pairs.budget = std::max(kMinConfirmation, kConfirmationShare * (steady_time() - start));
  PairedSide candidate{executor_.options().worker, {}, session_.watcher()};
  PairedSide reference{worker_options(before.stack, threads, device), {}};
  reference.worker.pace = candidate.worker.pace;  // they run on one host
  analysis::PairedConfirmation confirmation =
      pairs.measure(std::move(reference), std::move(candidate));
  if (!context_.stop.load()) {
    put_confirmation(context_.store,
                     plan_.baseline,
                     session_.id(),
                     {.suspects = slower, .pairs = std::move(confirmation)});
  }
  return true;
}

/// Measures suspects in fresh processes, which are compared with the stored baseline. After three
/// of them, none begins once a quarter of the run's time is used.
void SuspectConfirmation::confirm_alone(Seconds start, ModelRuns& runs) {
  const analysis::Suspects regressed = suspects(analysis::SuspectRule::kRegressed);
  if (regressed.empty()) {
    return;
  }
  spdlog::info(
      "{} look regressed: {} models and {} layers are measured again before this is reported",
      regressed.series.size(),
      regressed.subjects().size(),
      regressed.layers.size());
  const Seconds end = steady_time() + kConfirmationShare * (steady_time() - start);
  const auto stopped = [&] { return context_.stop.load() || !executor_.device_fault().empty(); };
  const std::int64_t last = last_process(context_.store, session_.id());
  // More processes than there will be: no key counts as confirmed yet.
  std::vector<Confirmation> keys =
      unconfirmed_keys(context_.store, session_.id(), processes_ + plan_.processes + 1);
  std::erase_if(keys, [&](const Confirmation& key) { return !regressed.layers.contains(key.key); });
  for (std::size_t round = 1;
       round <= plan_.processes && (round <= kMinFreshProcesses || steady_time() < end);
       ++round) {
    const std::size_t number = processes_ + round;
    shuffle_for(session_.id(), number, keys);
    ProgressStage stage(context_.progress);
    if (!executor_.repeat(
            session_.id(), keys, stopped, [&](const Progress& each) { stage.show(each); }) ||
        !runs.execute_again(regressed.subjects(), number, stopped)) {
      return;
    }
  }
  put_confirmation(context_.store,
                   plan_.baseline,
                   session_.id(),
                   {.suspects = regressed, .after_process = last, .pairs = {}});
}

}  // namespace plumb::session
