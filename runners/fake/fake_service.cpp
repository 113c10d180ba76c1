// SPDX-License-Identifier: Apache-2.0
#include "runners/fake/fake_service.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/loadgen/budgeted_load.hpp"
#include "harness/loadgen/load_generator.hpp"
#include "harness/loadgen/mlperf/mlperf_log.hpp"
#include "harness/model/key/layer_cost.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/worker/protocol/worker_service.hpp"
#include "runners/fake/fake_script.hpp"

namespace plumb::fake {
namespace {

constexpr Seconds kFloor{1e-7};
/// Factors of a full row's samples, in parts of the median. Their median is 1.
constexpr std::array<double, 9> kSpread{
    1.000, 0.998, 1.002, 0.999, 1.001, 1.000, 1.003, 0.997, 1.010};

double fraction_of_hash(const std::string& text) {
  const std::string digest = sha256(text);
  return static_cast<double>(std::stoul(digest.substr(0, 4), nullptr, 16)) / 65536.0;
}

/// Returns whether a rule refuses the whole key at once, before any variant is tried.
bool refuses_key(const Script::Rule* rule) {
  return rule != nullptr && rule->variant == "*" && !rule->outcome.timed();
}

/// Adds the readings that the script has for the requested metrics; none: all.
void count(const Script::Rule& rule,
           const std::vector<std::string>& metrics,
           results::Measurement& row) {
  row.readings = rule.counted;
  if (!metrics.empty()) {
    row.readings.clear();
    for (const std::string& name : metrics) {
      const auto found = rule.counted.find(name);
      if (found != rule.counted.end()) {
        row.readings.insert(*found);
      } else {
        row.attributes["metrics_missing"] = "the script does not count " + name;
      }
    }
  }
}

model::Graph graph_in(const worker::ExecuteRequest& request) {
  return request.model.empty() ? model::read_model(request.path, {request.batch, request.dims})
                               : model::graph_of_bytes(request.model);
}

}  // namespace

void act(const Script::Rule& rule) {
  if (!rule.once.empty()) {
    const int made = ::open(rule.once.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (made < 0) {
      return;
    }
    ::close(made);
  }
  if (!rule.log.empty()) {
    fmt::print(stderr, "{}\n", rule.log);
  }
  std::this_thread::sleep_for(rule.delay);
  while (!rule.hold.empty() && std::filesystem::exists(rule.hold)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  switch (rule.action) {
    case Script::Rule::Action::kNone:
      break;
    case Script::Rule::Action::kCrash:
      std::abort();
    case Script::Rule::Action::kExit:
      ::_exit(3);
    case Script::Rule::Action::kStop:
      std::raise(SIGSTOP);
      break;
    case Script::Rule::Action::kHang:
      while (true) {
        ::pause();
      }
    case Script::Rule::Action::kFlood: {
      const std::string line(1023, '~');
      for (int i = 0; i < 16 * 1024; ++i) {
        fmt::print("{}\n", line);
      }
      break;
    }
    case Script::Rule::Action::kOutOfMemory:
      throw std::bad_alloc();
    case Script::Rule::Action::kFail:
      throw Error(Error::Kind::kInternal, "the script says that this fails");
  }
}

Seconds fake_time(const model::LayerKey& key,
                  const std::string& variant,
                  results::CacheMode cache) {
  model::LayerCost cost;
  cost.flops = Flops{1e6};
  double rate = 5e10;
  try {
    const model::LayerSpec spec = model::parse_key(key);
    cost = model::compute_cost(spec);
    if (spec.has_input(0) && (spec.inputs[0]->dtype == model::DataType::kBf16 ||
                              spec.inputs[0]->dtype == model::DataType::kF16)) {
      rate *= 2;
    }
  } catch (const Error&) {
    // Scripts may use any text as a key.
  }
  Bytes bytes = cost.input_bytes + cost.weight_bytes + cost.output_bytes;
  if (cache != results::CacheMode::kNone) {
    bytes += cost.weight_bytes;
  }
  const Seconds ideal = std::max(cost.flops / FlopsPerSecond{rate}, bytes / BytesPerSecond{1e10});
  return (ideal + Seconds(1e-6)) * (1.0 + 0.5 * fraction_of_hash(key.text + "|" + variant));
}

results::Environment FakeService::describe() {
  act_on("request:describe");
  return script_.environment;
}

results::Calibration FakeService::calibrate() {
  act_on("request:calibrate");
  return script_.calibration;
}

/// Carries out the rule that a script has for a request without a key, if there is one by its name.
void FakeService::act_on(const std::string& request) const {
  const Script::Rule* const rule = script_.rule_for(request, "");
  if (rule != nullptr && rule->match == request) {
    act(*rule);
  }
}

std::vector<worker::Variant> FakeService::variants(const model::LayerKey& key) {
  if (refuses_key(script_.rule_for(key.text, ""))) {
    return {};
  }
  std::vector<worker::Variant> all;
  for (const std::string& text : script_.variants) {
    all.push_back({.text = text, .library_choice = all.empty(), .reference_implementation = false});
  }
  return all;
}

double FakeService::noise_of(const model::LayerKey& key) const {
  return script_.noise && !key.text.starts_with(results::kControlPrefix) ? script_.noise->factor()
                                                                         : 1.0;
}

results::Measurement FakeService::row(const worker::WorkerService::MeasureRequest& request,
                                      results::CacheMode cache,
                                      const worker::Variant& variant,
                                      results::Purpose purpose) const {
  results::Measurement row;
  row.key = request.key;
  row.variant = variant.text;
  row.library_choice = variant.library_choice;
  row.cache = cache;
  row.purpose = purpose;
  row.started = parse_timestamp(kStarted);
  const Script::Rule* rule = script_.rule_for(request.key.text, variant.text);
  if (rule != nullptr) {
    act(*rule);
    row.outcome = rule->outcome;
    row.disturbance.disturbed = rule->disturbed;
    if (purpose != results::Purpose::kRace) {
      row.attributes = observe_.kernels ? rule->profiled : rule->attributes;
      row.readings = rule->readings;
      if (observe_.metrics) {
        count(*rule, *observe_.metrics, row);
      }
    }
    if (row.outcome.timed() || row.outcome.kind == results::Outcome::Kind::kWrongResult) {
      row.output_hash = sha256(request.key.text + rule->output);
      row.maximum_error = rule->error;
    }
    if (!row.outcome.timed()) {
      return row;
    }
  }
  const Seconds time =
      (rule != nullptr && rule->time ? *rule->time : fake_time(request.key, variant.text, cache)) *
      script_.slowness * noise_of(request.key);
  const std::size_t count = purpose == results::Purpose::kRace ? 3 : kSpread.size();
  for (std::size_t i = 0; i < count; ++i) {
    row.samples.push_back(time * kSpread[i]);
    row.wall += row.samples.back();
  }
  row.summary = measure::summarize(row.samples);
  row.floor = kFloor;
  row.creation = time * 10.0;
  row.first_call = time * 2.0;
  if (!variant.library_choice) {
    row.reorder = time * 0.1;
  }
  row.workspace = {variant.text == "algorithm=winograd" ? 65536 : 0};
  row.maximum_error = row.maximum_error.value_or(0.0);
  if (rule == nullptr) {
    row.output_hash = sha256(request.key.text);
  }
  return row;
}

void FakeService::measure(const worker::WorkerService::MeasureRequest& request,
                          const std::function<void(results::Measurement)>& emit,
                          const worker::AwaitTurn& await_turn) {
  for (const results::CacheMode cache : request.caches) {
    if (refuses_key(script_.rule_for(request.key.text, ""))) {
      emit(row(request, cache, {}, request.purpose));
      continue;
    }
    std::vector<worker::Variant> chosen = variants(request.key);
    if (!request.variants.empty()) {
      std::erase_if(chosen, [&](const worker::Variant& variant) {
        return std::find(request.variants.begin(), request.variants.end(), variant.text) ==
               request.variants.end();
      });
    } else {
      std::vector<results::Measurement> races;
      Seconds best = Seconds::max();
      for (const worker::Variant& variant : chosen) {
        races.push_back(row(request, cache, variant, results::Purpose::kRace));
        if (!races.back().outcome.timed()) {
          races.back().purpose = request.purpose;  // a failure is the row's result, not a race
        }
        emit(races.back());
        if (races.back().outcome.timed()) {
          best = std::min(best, races.back().summary.median);
        }
      }
      const bool keep_all = request.race_margin >= 1.0;
      const Seconds limit = keep_all ? Seconds::max() : best * (1.0 + request.race_margin);
      for (std::size_t i = races.size(); i-- > 0;) {
        const bool lost = races[i].summary.median > limit && !chosen[i].library_choice;
        if (!races[i].outcome.timed() || lost) {
          chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
    }
    for (const worker::Variant& variant : chosen) {
      if (request.in_turns) {
        await_turn();
      }
      emit(row(request, cache, variant, request.purpose));
    }
  }
}

Seconds FakeService::model_time(const worker::ExecuteRequest& request,
                                const results::ExecutionMode& mode) {
  Seconds time{};
  for (const model::Layer& layer : graph_in(request).layers) {
    if (layer.role == model::Layer::Role::kCompute) {
      time += fake_time(layer.key, "algorithm=direct", results::CacheMode::kWeights);
    }
  }
  for (const bool option : {mode.best_variant, mode.bf16, mode.f16, mode.fusion}) {
    time *= option ? 0.9 : 1.0;
  }
  return time;
}

results::Execution FakeService::execution(const worker::ExecuteRequest& request,
                                          const worker::ModeRequest& mode) const {
  results::Execution execution;
  execution.mode = to_text(mode.mode);
  worker::WorkerService::MeasureRequest measure;
  measure.key.text = "model:" + request.name;
  execution.row =
      row(measure, results::CacheMode::kNone, {.text = execution.mode}, results::Purpose::kFull);
  const Script::Rule* rule = script_.rule_for(measure.key.text, execution.mode);
  execution.memory = rule == nullptr ? Bytes{} : rule->memory;
  if (!execution.row.outcome.timed() || (rule != nullptr && rule->time)) {
    return execution;
  }
  const Seconds time = model_time(request, mode.mode) * script_.slowness * noise_of(measure.key);
  for (std::size_t i = 0; i < execution.row.samples.size(); ++i) {
    execution.row.samples[i] = time * kSpread[i];
  }
  execution.row.summary = measure::summarize(execution.row.samples);
  return execution;
}

void FakeService::execute(const worker::ExecuteRequest& request,
                          const std::function<void(results::Execution)>& emit,
                          const worker::ExecuteReport& report,
                          const worker::AwaitTurn& await_turn) {
  report({});
  for (const worker::ModeRequest& mode : request.modes) {
    if (request.in_turns) {
      await_turn();
    }
    emit(execution(request, mode));
  }
}

// How the fake backend loads a model: in scripted time, through the real load generator.

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
    const auto at =
        std::find_if(uses.begin(), uses.end(), [&](const loadgen::BatchExecutor::BucketUse& use) {
          return use.bucket == bucket;
        });
    return std::chrono::round<Nanoseconds>(times_[static_cast<std::size_t>(at - uses.begin())]);
  }
  [[nodiscard]] std::size_t maximum_batch() const { return maximum_batch_; }

  std::vector<loadgen::BatchExecutor::BucketUse> uses;

 private:
  std::vector<Seconds> times_;
  std::size_t maximum_batch_;
};

/// Plans a batch's answer after a time; with a `failure`, every sample fails with that reason.
void plan_answer(ScriptedSystem& system,
                 std::span<const loadgen::SystemUnderTest::Sample> batch,
                 Nanoseconds after,
                 const std::string& failure) {
  std::vector<std::uint64_t> ids;
  ids.reserve(batch.size());
  for (const loadgen::SystemUnderTest::Sample& sample : batch) {
    ids.push_back(sample.id);
  }
  system.clock.plan(after, [answers = system.answers, ids = std::move(ids), failure] {
    if (!failure.empty()) {
      answers->fail(ids, failure);
      return;
    }
    std::vector<loadgen::Completions::Response> responses;
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
    std::span<const loadgen::SystemUnderTest::Sample> left = query.samples;
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
  const Script::Rule* rule =
      script_.rule_for("model:" + model.name, to_text(request.load.scenario));
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
  ScriptedSystem::Clock clock;
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
