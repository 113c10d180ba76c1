// SPDX-License-Identifier: Apache-2.0
#include "harness/session/work/executor.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/session/work/worker_requests.hpp"

namespace plumb::session {
namespace {

/// Shortens a key for one line of progress: operator and first operands.
std::string short_name(const model::LayerKey& key) {
  constexpr std::size_t kMost = 60;
  const std::size_t start = std::min(key.text.find(':') + 1, key.text.size());
  const std::string body = key.text.substr(start, key.text.find(";acc=") - start);
  return body.size() <= kMost ? body : body.substr(0, kMost - 1) + "…";
}

/// Returns the expected cost of an item, without a unit: a fixed part, plus its arithmetic.
double expected_cost(const WorkSource::Item& item) {
  constexpr double kFixed = 1.0;
  constexpr double kPerMac = 1e-9;
  return kFixed +
         kPerMac * item.weight / static_cast<double>(std::max<std::int64_t>(item.occurrences, 1));
}

}  // namespace

/// State of one call of execute() or repeat(): its clock, its progress and its counts.
class Executor::LayerRun {
 public:
  LayerRun(Executor& executor,
           const results::RunId& run,
           const std::function<void(const ProgressDisplay::Progress&)>& report)
      : executor_(executor), run_(run), report_(report), started_(steady_time()) {}

  Executor::Summary run(WorkSource& items, std::vector<WorkSource::Confirmation> waiting) {
    progress_.total = items.items().size();
    for (const WorkSource::Item& item : items.items()) {
      cost_left_ += expected_cost(item);
    }
    std::optional<WorkSource::Item> next = items.next();
    while (!stopped() && (next || !waiting.empty())) {
      // The winner of many noisy variants looks better than it is. So the next process measures it
      // again before its own keys.
      confirm(std::exchange(waiting, {}));
      std::vector<results::StoredMeasurement> fresh;
      for (std::size_t keys = executor_.options_.keys_per_process; keys > 0 && next && !stopped();
           --keys) {
        measure(*next, fresh);
        next = items.next();
      }
      waiting = confirmations(fresh, executor_.options_.confirmation);
      executor_.end_worker();
    }
    const bool unfinished = next || !waiting.empty();
    summary_.state = unfinished ? results::RunState::kInterrupted : results::RunState::kFinished;
    summary_.processes = static_cast<std::size_t>(executor_.processes_ - executor_.resumed_after_);
    return summary_;
  }

  bool repeat(std::span<const WorkSource::Confirmation> keys,
              const std::function<bool()>& stopped) {
    progress_.total = keys.size();
    cost_left_ = static_cast<double>(keys.size());
    for (const WorkSource::Confirmation& key : keys) {
      if (stopped()) {
        return false;
      }
      confirm(key, executor_.options_.repeated, false);
      ++progress_.done;
      cost_done_ += 1.0;
    }
    announce("");
    return true;
  }

 private:
  [[nodiscard]] bool stopped() {
    const auto& budget = executor_.options_.budget;
    summary_.budget_ended = budget && steady_time() - started_ >= *budget;
    return summary_.budget_ended || executor_.stop_.load() || !executor_.device_fault_.empty();
  }

  void confirm(const std::vector<WorkSource::Confirmation>& confirmations) {
    for (const WorkSource::Confirmation& confirmation : confirmations) {
      if (stopped()) {
        return;
      }
      confirm(confirmation, executor_.options_.request.sampling, true);
    }
  }

  void confirm(const WorkSource::Confirmation& confirmation,
               const measure::SamplingPlan& sampling,
               bool verify) {
    worker::WorkerService::MeasureRequest request = executor_.options_.request;
    request.key = confirmation.key;
    request.caches = confirmation.caches;
    request.variants = confirmation.variants;
    request.purpose = results::Purpose::kConfirm;
    request.sampling = sampling;
    request.verify = request.verify && verify;
    announce("confirming " + short_name(confirmation.key));
    store(request_rows(request));
  }

  void measure(const WorkSource::Item& item, std::vector<results::StoredMeasurement>& fresh) {
    worker::WorkerService::MeasureRequest request = executor_.options_.request;
    request.key = item.key;
    request.caches = item.caches;
    announce(short_name(item.key));
    std::vector<results::Measurement> rows = request_rows(request);
    settle(item, rows);
    store(rows);
    for (results::Measurement& row : rows) {
      fresh.push_back({.row = 0, .run = run_, .reused = false, .measurement = std::move(row)});
    }
    ++summary_.measured;
    ++progress_.done;
    cost_done_ += expected_cost(item);
    announce("");
  }

  /// Sends one request and returns all rows. A worker that dies is replaced once. If the second
  /// dies too, the rows are those that it had sent and one row with the reason for each cache mode.
  std::vector<results::Measurement> request_rows(
      const worker::WorkerService::MeasureRequest& request) {
    std::vector<results::Measurement> rows;
    Timestamp started{};
    try {
      executor_.with_second_try(request.key.text, false, [&] {
        rows.clear();
        started = current_time();
        worker::WorkerProcess& worker = executor_.worker();
        worker.measure(request, executor_.options_.row_timeout, [&](results::Measurement row) {
          executor_.mark(row);
          executor_.look_for_fault(row);
          rows.push_back(std::move(row));
        });
      });
    } catch (const worker::WorkerDied& death) {
      const bool hung = death.outcome().kind == results::Outcome::Kind::kTimedOut;
      ++(hung ? summary_.timeouts : summary_.crashes);
      spdlog::warn("worker lost: {}; key={}", death.outcome().reason, request.key.text);
      executor_.end_worker();
      for (const results::CacheMode cache : request.caches) {
        results::Measurement row;
        row.key = request.key;
        row.cache = cache;
        row.purpose = request.purpose;
        row.outcome = death.outcome();
        executor_.mark(row);
        row.started = started;
        rows.push_back(std::move(row));
      }
    }
    return rows;
  }

  /// Adds a row for each cache mode of the item that no row settles. Otherwise a later run would
  /// try it again and again.
  void settle(const WorkSource::Item& item, std::vector<results::Measurement>& rows) const {
    std::vector<results::StoredMeasurement> seen;
    seen.reserve(rows.size());
    for (const results::Measurement& row : rows) {
      seen.push_back({.row = 0, .run = run_, .reused = false, .measurement = row});
    }
    for (const WorkSource::Item& open : without_measured({item}, seen)) {
      const auto failed =
          std::find_if(rows.begin(), rows.end(), [](const results::Measurement& row) {
            return !row.outcome.timed();
          });
      for (const results::CacheMode cache : open.caches) {
        results::Measurement row;
        row.key = item.key;
        row.cache = cache;
        row.outcome = failed != rows.end()
                          ? failed->outcome
                          : results::Outcome{results::Outcome::Kind::kUnsupported,
                                             "the worker returned no time and no reason"};
        executor_.mark(row);
        row.started = current_time();
        rows.push_back(std::move(row));
      }
    }
  }

  void store(const std::vector<results::Measurement>& rows) {
    if (rows.empty()) {
      return;
    }
    try {
      executor_.store_.append(run_, rows);
    } catch (const store::SharedWork::StaleClaim& stale) {
      spdlog::warn("{}", stale.what());
    }
  }

  void announce(const std::string& current) {
    progress_.current = current;
    progress_.elapsed = steady_time() - started_;
    if (cost_done_ > 0) {
      progress_.left = progress_.elapsed * ((cost_left_ - cost_done_) / cost_done_);
    }
    report_(progress_);
  }

  Executor& executor_;
  const results::RunId& run_;
  const std::function<void(const ProgressDisplay::Progress&)>& report_;
  Seconds started_;
  ProgressDisplay::Progress progress_;
  Executor::Summary summary_;
  double cost_left_ = 0.0;
  double cost_done_ = 0.0;
};

Executor::Executor(store::Store& store, Executor::Options options, const std::atomic<bool>& stop)
    : store_(store), options_(std::move(options)), stop_(stop) {}

Executor::~Executor() = default;

void Executor::end_worker() {
  if (worker_ && options_.before_worker_ends) {
    options_.before_worker_ends(worker_->pid());
  }
  worker_.reset();
}

worker::WorkerProcess& Executor::worker() {
  if (!worker_) {
    const Seconds begin = steady_time();
    worker_ = std::make_unique<worker::WorkerProcess>(options_.worker);
    longest_start_ = std::max(longest_start_, steady_time() - begin);
    ++processes_;
  }
  return *worker_;
}

void Executor::mark(results::Measurement& row) const {
  row.process = processes_;
  if (!host_.empty()) {
    row.attributes[results::kHost] = host_;
  }
}

void Executor::look_for_fault(const results::Measurement& row) {
  const auto found = row.attributes.find(results::kDeviceFault);
  if (found != row.attributes.end() && device_fault_.empty()) {
    device_fault_ = found->second;
  }
}

void Executor::with_second_try(const std::string& what,
                               bool even_if_hung,
                               const std::function<void()>& ask) {
  try {
    ask();
  } catch (const worker::WorkerDied& death) {
    // What was killed from outside, or ran out of memory by chance, works in a new process. A layer
    // that hangs has cost its time already.
    const bool hung = death.outcome().kind == results::Outcome::Kind::kTimedOut;
    const bool again =
        death.outcome().kind == results::Outcome::Kind::kCrashed || (hung && even_if_hung);
    if (!again || stop_.load()) {
      throw;
    }
    spdlog::warn("worker lost: {}; another one tries: {}", death.outcome().reason, what);
    end_worker();
    ask();
  }
}

results::Environment Executor::describe() {
  results::Environment environment;
  ask_surely("describing itself", [&] { environment = worker().describe(); });
  return environment;
}

results::Calibration Executor::calibrate() {
  results::Calibration calibration;
  ask_surely("calibrating", [&] { calibration = worker().calibrate(); });
  return calibration;
}

void Executor::ask_surely(const std::string& what, const std::function<void()>& ask) {
  try {
    with_second_try(what, true, ask);
  } catch (const worker::WorkerDied& death) {
    end_worker();
    throw worker::lost_worker(death, what);
  }
}

std::optional<results::Controls> Executor::measure_controls() {
  return session::measure_controls([this](const worker::WorkerService::MeasureRequest& request) {
    std::vector<results::Measurement> rows;
    try {
      worker().measure(request, options_.row_timeout, [&](results::Measurement row) {
        rows.push_back(std::move(row));
      });
    } catch (const worker::WorkerDied& death) {
      spdlog::warn("worker lost: {}; {}", death.outcome().reason, request.key.text);
      end_worker();
      rows.clear();
    }
    return rows;
  });
}

void Executor::pass_samples(const std::vector<results::Execution>& executions,
                            const TakeSamples& take) {
  for (const results::Execution& execution : executions) {
    if (!execution.row.attributes.contains(results::kSampledRow)) {
      continue;
    }
    const results::ExecutionMode mode = results::execution_mode_from(execution.mode);
    try {
      take(mode, worker().take_samples(mode, options_.row_timeout));
    } catch (const Error& error) {
      spdlog::warn("the samples of {} in the mode {} are lost: {}",
                   execution.row.key.text,
                   execution.mode,
                   error.what());
    }
  }
}

std::vector<results::Execution> Executor::execute_model(const worker::ExecuteRequest& request,
                                                        const worker::ExecuteReport& report,
                                                        const TakeSamples& take) {
  end_worker();
  std::vector<results::Execution> executions;
  // All modes are prepared before any is timed, so the silence may last longer.
  const Seconds silence = options_.row_timeout * static_cast<double>(request.modes.size());
  results::Outcome failure{results::Outcome::Kind::kCrashed, "the worker sent no result for it"};
  const bool alone = request.modes.size() == 1;
  try {
    const auto keep = [&](results::Execution execution) {
      mark(execution.row);
      look_for_fault(execution.row);
      executions.push_back(std::move(execution));
    };
    const auto execute = [&] {
      executions.clear();
      worker().execute(
          request, silence, keep, [&](const worker::ExecuteRequest::Progress& progress) {
            report(progress);
            return !stop_.load();
          });
    };
    if (alone) {
      with_second_try(request.name, false, execute);
    } else {
      execute();
    }
    if (request.sampled && take) {
      pass_samples(executions, take);
    }
  } catch (const worker::WorkerDied& death) {
    failure = death.outcome();
    end_worker();
    if (failure.kind == results::Outcome::Kind::kSkipped) {
      return {};
    }
    spdlog::warn("worker lost: {}; model {}", failure.reason, request.name);
  }
  // One mode may have killed the process that all shared, so each gets a process of its own.
  if (executions.size() < request.modes.size() && !alone) {
    executions.clear();
    for (const worker::ModeRequest& mode : request.modes) {
      worker::ExecuteRequest one = request;
      one.modes = {mode};
      std::vector<results::Execution> own = execute_model(one, report, take);
      if (own.empty()) {
        return {};
      }
      executions.push_back(std::move(own.front()));
    }
  } else if (executions.empty()) {
    results::Execution& lost = executions.emplace_back();
    lost.mode = to_text(request.modes.front().mode);
    lost.row.started = current_time();
    lost.row.outcome = failure;
    mark(lost.row);
    lost.row.key.text = "model:" + request.name;
  }
  return executions;
}

results::ScenarioResult Executor::run_scenario(
    const worker::LoadRequest& request,
    const std::function<void(const worker::LoadRequest::Progress&)>& report) {
  // A load ends by itself at its budget. One that goes on far beyond it hangs, even with time to
  // read and plan.
  constexpr double kOverrun = 2.0;
  end_worker();
  results::ScenarioResult load = worker::begin_load(request);
  load.started = current_time();
  std::optional<Seconds> most;
  if (request.budget) {
    most = *request.budget * kOverrun +
           options_.row_timeout * static_cast<double>(request.buckets.size());
  }
  const Seconds start = steady_time();
  bool overrun = false;
  const auto keep_running = [&](const worker::LoadRequest::Progress& progress) {
    report(progress);
    overrun = most && steady_time() - start > *most;
    return !overrun && !stop_.load();
  };
  try {
    load = worker().load(request, options_.row_timeout, keep_running);
  } catch (const worker::WorkerDied& death) {
    load.outcome = death.outcome();
    if (overrun) {
      load.outcome = {results::Outcome::Kind::kTimedOut,
                      fmt::format("it did not end within {:.6g} s, far beyond its budget",
                                  most.value_or(Seconds(0)).count())};
    }
    load.wall = steady_time() - start;
    spdlog::warn("worker lost: {}; model {}", load.outcome.reason, load.model);
    end_worker();
  } catch (const Error& refusal) {
    if (refusal.kind() != Error::Kind::kUser) {
      throw;
    }
    load.outcome = {results::Outcome::Kind::kUnsupported, refusal.what()};
    load.wall = steady_time() - start;
  }
  load.process = processes_;
  return load;
}

std::optional<worker::Alternation> Executor::alternate(const worker::Alternation::Request& request,
                                                       results::Measurement& row) {
  constexpr double kRowsOfShape = 5.0;  // nothing is heard until all is done
  const Seconds most =
      options_.row_timeout * (kRowsOfShape * static_cast<double>(request.shapes.size()));
  end_worker();
  std::optional<worker::Alternation> times;
  Seconds start{};
  try {
    with_second_try(request.shapes.front().name, false, [&] {
      row.started = current_time();
      start = steady_time();
      times = worker().alternate(request, most, [this] { return !stop_.load(); });
    });
    row.disturbance = times->disturbance;
    row.readings = times->readings;
  } catch (const worker::WorkerDied& death) {
    row.outcome = death.outcome();
    end_worker();
  } catch (const Error& refusal) {
    if (!worker_ || refusal.kind() == Error::Kind::kInternal) {
      throw;
    }
    const bool wrong = std::string_view(refusal.what()).starts_with(worker::kWrongAlternation);
    row.outcome = {
        wrong ? results::Outcome::Kind::kWrongResult : results::Outcome::Kind::kUnsupported,
        refusal.what()};
  }
  row.wall = steady_time() - start;
  mark(row);
  return times;
}

bool Executor::repeat(const results::RunId& run,
                      std::span<const WorkSource::Confirmation> keys,
                      const std::function<bool()>& stopped,
                      const std::function<void(const ProgressDisplay::Progress&)>& report) {
  end_worker();
  const bool whole = LayerRun(*this, run, report).repeat(keys, stopped);
  end_worker();
  return whole;
}

Executor::Summary Executor::execute(
    const results::RunId& run,
    WorkSource& items,
    std::vector<WorkSource::Confirmation> unconfirmed,
    const std::function<void(const ProgressDisplay::Progress&)>& report) {
  return LayerRun(*this, run, report).run(items, std::move(unconfirmed));
}

}  // namespace plumb::session
