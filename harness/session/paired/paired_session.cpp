// SPDX-License-Identifier: Apache-2.0
#include "harness/session/paired/paired_session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/ulid.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/results/series/series_name.hpp"
#include "harness/rewrite/quantized_graph.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::session {
namespace {

/// Names the models of a suite whose shapes alternate. Empty: there is none.
std::string alternation_left_out(const suite::ResolvedSuite& suite) {
  std::set<std::string> names;
  for (const suite::ResolvedSuite::Model& model : suite.models) {
    if (model.alternation) {
      names.insert(model.name);
    }
  }
  return names.empty() ? std::string()
                       : fmt::format(
                             "each shape of {} was executed by itself: pairs do not execute it "
                             "among the others, as `plumb run` does; `plumb compare` compares that",
                             fmt::join(names, ", "));
}

/// Makes the requests for those of the modes in which a model of this type is executed.
std::vector<worker::ModeRequest> requests_for(const std::string& dtype,
                                              std::span<const results::ExecutionMode> modes) {
  std::vector<worker::ModeRequest> requests;
  for (const results::ExecutionMode& mode : modes) {
    PLUMB_CHECK(!mode.best_variant);
    if (dtype != rewrite::kInt8 && (dtype == "f32" || mode.other_type().empty())) {
      requests.push_back({mode, {}, {}});
    }
  }
  return requests;
}

}  // namespace

PairedSession::Run paired_run(const std::string& stack,
                              const suite::ResolvedSuite& suite,
                              std::span<const PlannedModel> models,
                              const PairedSession::Options& options) {
  WorkerChoice worker = options.worker;
  worker.stack = stack;
  PairedSession::Run run;
  run.side = {worker_options(worker), new_ulid()};
  results::RunHeader& header = run.header;
  header.id = run.side.run;
  header.suite = suite.name;
  header.resolved_suite = suite_for_store(suite, models);
  header.suite_hash = sha256(header.resolved_suite);
  header.backend = run.side.worker.stack.backend;
  header.stack = run.side.worker.stack.name;
  header.environment = join_environment(read_system(),
                                        worker::WorkerProcess(run.side.worker).describe(),
                                        worker.threads,
                                        header.stack);
  results::add_mark(results::kPairedMark, header.environment);
  header.command = options.command;
  header.started = current_time();
  return run;
}

void refuse_unlike(const PairedSession::Run& baseline, const PairedSession::Run& candidate) {
  const std::vector<std::string> varied{"stack"};
  std::string unlike;
  for (const analysis::EnvironmentDifference& each :
       analysis::environment_diff(baseline.header.environment, candidate.header.environment)) {
    if (each.identity && !analysis::is_varied(each.name, varied)) {
      unlike += fmt::format(" {}: '{}' and '{}';", each.name, each.baseline, each.candidate);
    }
  }
  if (!unlike.empty()) {
    throw Error(Error::Kind::kRefused,
                "the stacks differ in more than their libraries:" + unlike +
                    " only stacks of one backend on one device are compared in pairs");
  }
}

PairedSession::PairedSession(store::Store& store,
                             PairedSession::Run baseline,
                             PairedSession::Run candidate)
    : baseline_(std::move(baseline)),
      candidate_(std::move(candidate)),
      baseline_session_(store, baseline_.side.worker.stack),
      candidate_session_(store, candidate_.side.worker.stack) {
  baseline_.side.before_worker_ends = baseline_session_.watcher();
  candidate_.side.before_worker_ends = candidate_session_.watcher();
  baseline_session_.begin(baseline_.header);
  candidate_session_.begin(candidate_.header);
  for (const PairedSession::Run* each : {&baseline_, &candidate_}) {
    spdlog::info("run {}: {}", each->header.id, each->header.stack);
  }
}

std::vector<std::string> PairedSession::stack_faults() const {
  std::vector<std::string> faults = baseline_session_.stack_faults();
  for (std::string& fault : candidate_session_.stack_faults()) {
    if (std::find(faults.begin(), faults.end(), fault) == faults.end()) {
      faults.push_back(std::move(fault));
    }
  }
  return faults;
}

void PairedSession::finish(results::RunState state) {
  baseline_session_.finish(state);
  candidate_session_.finish(state);
}

std::vector<results::ExecutionMode> default_paired_modes() {
  return {{}, {.fusion = true}};
}

PairedRounds::Work collect_work(const ModelSource& source,
                                const suite::ResolvedSuite& suite,
                                std::span<const PlannedModel> models,
                                std::span<const results::ExecutionMode> modes) {
  PLUMB_CHECK(suite.models.size() == models.size());
  PairedRounds::Work work;
  std::set<model::LayerKey> seen;
  const auto add = [&](const model::LayerKey& key) {
    if (seen.insert(key).second) {
      work.layers.push_back(key);
    }
  };
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (const model::Layer& layer : models[i].graph.layers) {
      if (layer.role == model::Layer::Role::kCompute) {
        add(layer.key);
      }
    }
    std::vector<worker::ModeRequest> requests = requests_for(models[i].instance.dtype, modes);
    if (!requests.empty()) {
      PairedRounds::Work::Model model{analysis::subject_of(models[i].instance),
                                      make_execute_request(source, suite.models[i])};
      model.request.modes = std::move(requests);
      model.request.sampling.budget = Seconds(0.3);
      work.models.push_back(std::move(model));
    }
  }
  for (const model::ListedLayer& layer : suite.layers) {
    add(layer.key);
  }
  work.left_out = work.models.empty() ? std::string() : alternation_left_out(suite);
  if (!work.left_out.empty()) {
    spdlog::warn("{}", work.left_out);
  }
  return work;
}

namespace {

constexpr int kPairs = 4;  // few are enough: the regression is known already

/// Returns the fastest variant of a key's full rows; empty: none has a time.
std::string fastest(const std::vector<results::Measurement>& rows) {
  const results::Measurement* best = nullptr;
  for (const results::Measurement& row : rows) {
    if (row.purpose != results::Purpose::kRace && row.outcome.timed() &&
        (best == nullptr || row.corrected().median < best->corrected().median)) {
      best = &row;
    }
  }
  return best == nullptr ? "" : best->variant;
}

void add_pair(const std::map<std::string, double>& before,
              const std::string& left,
              const std::map<std::string, double>& after,
              const std::string& right,
              analysis::PairedSamples& samples) {
  const auto one = before.find(left);
  const auto other = after.find(right);
  if (one != before.end() && other != after.end()) {
    samples.baseline.push_back(one->second);
    samples.candidate.push_back(other->second);
  }
}

}  // namespace

PairedSession::Replay::Replay(store::Store& store,
                              PairedRounds::Side baseline,
                              PairedRounds::Side candidate,
                              Seconds row_timeout,
                              std::int64_t first_process,
                              const std::atomic<bool>& stop)
    : store_(store),
      baseline_{std::move(baseline), {}, {}},
      candidate_{std::move(candidate), {}, {}},
      row_timeout_(row_timeout),
      process_(first_process),
      stop_(stop) {}

std::vector<results::Measurement> PairedSession::Replay::rows(
    std::unique_ptr<worker::WorkerProcess>& worker,
    const Side& side,
    const worker::WorkerService::MeasureRequest& request) {
  std::vector<results::Measurement> result;
  try {
    if (!worker) {
      worker = std::make_unique<worker::WorkerProcess>(side.side.worker);
    }
    worker->measure(request, row_timeout_, [&](results::Measurement row) {
      row.process = process_;
      result.push_back(std::move(row));
    });
  } catch (const worker::WorkerDied& death) {
    spdlog::warn("worker of {} lost: {}; key={}",
                 side.side.worker.stack.name,
                 death.outcome().reason,
                 request.key.text);
    worker.reset();
  }
  store_.append(side.side.run, result);
  return result;
}

void PairedSession::Replay::race(Side& side,
                                 std::span<const PairedSession::Replay::Request> requests,
                                 bool candidate) {
  std::unique_ptr<worker::WorkerProcess> worker;
  for (const PairedSession::Replay::Request& each : requests) {
    if (stop_.load()) {
      break;
    }
    worker::WorkerService::MeasureRequest request;
    request.key = each.key;
    const std::vector<results::Measurement> raced = rows(worker, side, request);
    side.best.push_back(fastest(raced));
    std::vector<std::string> variants;
    for (const results::Measurement& row : raced) {
      // Skipped variants exist too: the baseline's choice may be one of them.
      if (row.outcome.timed() || row.outcome.kind == results::Outcome::Kind::kSkipped) {
        variants.push_back(row.variant);
      }
    }
    side.replayed.push_back(candidate ? analysis::same_variant(each.chosen, variants)
                                      : each.chosen);
  }
  ++process_;
}

std::vector<PairedSession::Replay::Times> PairedSession::Replay::measure(
    const Side& side, std::span<const PairedSession::Replay::Request> requests) {
  std::unique_ptr<worker::WorkerProcess> worker;
  std::vector<Times> times(requests.size());
  for (std::size_t i = 0; i < requests.size() && !stop_.load(); ++i) {
    worker::WorkerService::MeasureRequest request;
    request.key = requests[i].key;
    request.purpose = results::Purpose::kConfirm;
    request.verify = false;
    for (const std::string& variant : {side.replayed[i], side.best[i]}) {
      const bool known = std::find(request.variants.begin(), request.variants.end(), variant) !=
                         request.variants.end();
      if (!variant.empty() && !known) {
        request.variants.push_back(variant);
      }
    }
    if (request.variants.empty()) {
      continue;
    }
    for (const results::Measurement& row : rows(worker, side, request)) {
      if (row.outcome.timed()) {
        times[i][row.variant] = row.corrected().median.count();
      }
    }
  }
  ++process_;
  return times;
}

std::vector<analysis::Qualification::ReplayTimes> PairedSession::Replay::run(
    std::span<const PairedSession::Replay::Request> requests,
    const std::function<void(const std::string&)>& report) {
  report("replay: racing all variants");
  race(baseline_, requests, false);
  race(candidate_, requests, true);
  std::vector<analysis::Qualification::ReplayTimes> results(requests.size());
  if (stop_.load()) {
    return results;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    results[i].chosen = requests[i].chosen;
    results[i].replayed = candidate_.replayed[i];
    results[i].baseline_best = baseline_.best[i];
    results[i].candidate_best = candidate_.best[i];
    results[i].replay.name = "replay/" + requests[i].key.text;
    results[i].best.name = results::capability_series(requests[i].key.text);
  }
  // The race only picks variants. Fresh processes time them, since a winner looks better in the
  // race that it won than it is.
  for (int pair = 0; pair < kPairs && !stop_.load(); ++pair) {
    report(fmt::format("replay: pair {} of {}", pair + 1, kPairs));
    std::vector<Times> before;
    std::vector<Times> after;
    if (pair % 2 == 0) {
      before = measure(baseline_, requests);
      after = measure(candidate_, requests);
    } else {
      after = measure(candidate_, requests);
      before = measure(baseline_, requests);
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
      add_pair(before[i], results[i].chosen, after[i], results[i].replayed, results[i].replay);
      add_pair(before[i],
               results[i].baseline_best,
               after[i],
               results[i].candidate_best,
               results[i].best);
    }
  }
  return results;
}

}  // namespace plumb::session
