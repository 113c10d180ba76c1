// SPDX-License-Identifier: Apache-2.0
// How the fake backend loads a model: in scripted time, through the real load generator.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/loadgen/budgeted_load.hpp"
#include "harness/loadgen/load_generator.hpp"
#include "harness/loadgen/mlperf/mlperf_log.hpp"
#include "runners/fake/fake_service.hpp"
#include "runners/fake/scripted_load.hpp"

namespace plumb::fake {
namespace {

/// Times of the buckets, and counts of their uses.
class BucketTimes {
 public:
  BucketTimes(std::vector<Seconds> times, const worker::LoadRequest& request)
      : times_(std::move(times)), maximum_batch_(request.batches.maximum_batch) {
    for (const worker::LoadRequest::Bucket& bucket : request.buckets) {
      uses.push_back({bucket.samples, 0, 0});
    }
  }

  /// Returns how long a batch of `samples` samples takes, and counts the use of its bucket.
  Nanoseconds of(std::size_t samples) {
    const std::size_t bucket = loadgen::use_bucket(uses, samples);
    const auto at = std::find_if(uses.begin(), uses.end(), [&](const loadgen::BucketUse& use) {
      return use.bucket == bucket;
    });
    return std::chrono::round<Nanoseconds>(times_[static_cast<std::size_t>(at - uses.begin())]);
  }
  [[nodiscard]] std::size_t maximum_batch() const { return maximum_batch_; }

  std::vector<loadgen::BucketUse> uses;

 private:
  std::vector<Seconds> times_;
  std::size_t maximum_batch_;
};

/// Plans a batch's answer after a time; with a `failure`, every sample fails with that reason.
void plan_answer(ScriptedSystem& system,
                 std::span<const loadgen::QuerySample> batch,
                 Nanoseconds after,
                 const std::string& failure) {
  std::vector<std::uint64_t> ids;
  ids.reserve(batch.size());
  for (const loadgen::QuerySample& sample : batch) {
    ids.push_back(sample.id);
  }
  system.clock.plan(after, [answers = system.answers, ids = std::move(ids), failure] {
    if (!failure.empty()) {
      answers->fail(ids, failure);
      return;
    }
    std::vector<loadgen::SampleResponse> responses;
    responses.reserve(ids.size());
    for (const std::uint64_t id : ids) {
      responses.push_back({id, {}});
    }
    answers->complete(responses);
  });
}

/// Makes the function that executes batches one after the other, each after the one before.
ScriptedSystem::OnIssue one_after_the_other(BucketTimes& times, const results::Outcome& outcome) {
  return [&times, outcome, busy = Nanoseconds{}](ScriptedSystem& system,
                                                 const ScriptedSystem::Issue& query) mutable {
    if (outcome.kind == results::Outcome::Kind::kTimedOut) {
      return;  // dropped
    }
    const Nanoseconds now = system.clock.now();
    std::span<const loadgen::QuerySample> left = query.samples;
    while (!left.empty()) {
      const auto batch = left.first(std::min(left.size(), times.maximum_batch()));
      left = left.subspan(batch.size());
      busy = std::max(busy, now) + times.of(batch.size());
      plan_answer(system, batch, busy - now, outcome.reason);
    }
  };
}

/// Runs the accuracy run of a load and writes its log.
loadgen::LoadResult log_accuracy(const results::ScenarioResult& load,
                                 ScriptedSystem& system,
                                 const std::filesystem::path& path) {
  loadgen::RequestedLoad asked =
      loadgen::accuracy_load(load.requested, load.requested.total_samples);
  if (load.result) {
    asked.target_rate = load.result->load.target_rate;
  }
  std::ofstream file(path, std::ios::binary);
  loadgen::MlperfAccuracyLog log(file);
  loadgen::LoadResult result =
      loadgen::run_load(loadgen::resolve_load(asked), system, system.clock, &log);
  log.finish();
  return result;
}

}  // namespace

results::ScenarioResult FakeService::load(const worker::LoadRequest& request,
                                          const worker::LoadReport& report) {
  const worker::ExecuteRequest& model = request.buckets.front().model;
  const Rule* rule = script_.rule_for("model:" + model.name, to_text(request.load.scenario));
  results::ScenarioResult load = worker::begin_load(request);
  load.requested.total_samples = request.data_set;
  load.requested.loaded_samples = request.data_set;
  load.direct = true;
  load.started = parse_timestamp(kStarted);
  report({"running", 0, Seconds{}});
  results::Outcome answers;
  if (rule != nullptr) {
    act(*rule);
    answers = rule->outcome;
    load.memory = rule->memory;
  }
  const bool answered = answers.ok() || answers.kind == results::Outcome::Kind::kWrongResult ||
                        answers.kind == results::Outcome::Kind::kTimedOut;
  if (!answered) {
    load.outcome = answers;
    return load;
  }
  std::vector<Seconds> bucket_times;
  for (const worker::LoadRequest::Bucket& bucket : request.buckets) {
    bucket_times.push_back(rule != nullptr && rule->time
                               ? *rule->time * static_cast<double>(bucket.samples)
                               : model_time(bucket.model, bucket.model.modes.front().mode));
  }
  BucketTimes times(std::move(bucket_times), request);
  ScriptedClock clock;
  const Nanoseconds started = clock.now();
  ScriptedSystem system(clock, one_after_the_other(times, answers));
  loadgen::BudgetedLoad done =
      loadgen::run_within(load.requested, request.budget, system, clock, [](const std::string&) {});
  load.requested = done.requested;
  load.result = std::move(done.result);
  if (!request.accuracy_log.empty()) {
    load.accuracy = log_accuracy(load, system, request.accuracy_log);
  }
  for (std::optional<loadgen::LoadResult>* result : {&load.result, &load.accuracy}) {
    if (*result) {
      (*result)->begin -= started;
    }
  }
  if (done.peak) {
    load.peak = results::summarize(*done.peak);
  }
  load.buckets = times.uses;
  return load;
}

}  // namespace plumb::fake
