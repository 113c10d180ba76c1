// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/layer_benchmarks.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/model/key/layer_cost.hpp"
#include "runners/engine/bench/candidate_preparation.hpp"
#include "runners/engine/bench/program_region.hpp"

namespace plumb::engine {
namespace {

/// Shortest execution that is reported. With zero the library would never have repeated enough.
constexpr Seconds kShortest{1e-9};

worker::MeasureRequest request_for(const model::LayerKey& key) {
  worker::MeasureRequest request;
  request.key = key;
  return request;
}

/// Warms up as a measurement does, and returns how many executions a sample needs.
std::size_t warm_up(worker::Program& program, const measure::Clock& clock) {
  HotRegion region(program);
  measure::SamplingPlan plan;
  plan.samples_at_least = 1;
  plan.samples_at_most = 1;
  return measure::sample(region, plan, clock).repetitions;
}

/// Adds what Google Benchmark divides by the time: bytes that the layer must move, and its
/// multiply-accumulates.
void count_work(benchmark::State& state, const model::LayerCost& cost) {
  const Bytes bytes = cost.input_bytes + cost.weight_bytes + cost.output_bytes;
  state.SetBytesProcessed(bytes.value * state.iterations());
  if (cost.macs > 0) {
    state.counters["macs_per_second"] = benchmark::Counter(
        static_cast<double>(cost.macs), benchmark::Counter::kIsIterationInvariantRate);
  }
}

}  // namespace

/// One variant on its way to Google Benchmark. Its members refer to each other.
struct LayerBenchmarks::Prepared {
  Prepared(worker::Backend& backend, const measure::Clock& clock, const model::LayerKey& key)
      : request(request_for(key)), preparation(backend, clock, request, model::parse_key(key)) {}

  worker::MeasureRequest request;
  CandidatePreparation preparation;
  Candidate candidate;
  std::size_t repetitions = 1;  ///< executions in a sample
};

LayerBenchmarks::LayerBenchmarks(worker::Backend& backend, measure::Clock clock)
    : backend_(backend), clock_(std::move(clock)), overhead_(measure_floor(clock_)) {}

LayerBenchmarks::~LayerBenchmarks() = default;

void LayerBenchmarks::add(const model::LayerKey& written) {
  const model::LayerKey key = model::to_key(model::parse_key(written));
  const results::Outcome supported = backend_.supports(key);
  std::vector<worker::Variant> variants =
      supported.ok() ? backend_.variants(key) : std::vector<worker::Variant>{};
  const auto fast =
      std::stable_partition(variants.begin(), variants.end(), [](const worker::Variant& one) {
        return !one.reference_implementation;
      });
  if (fast != variants.begin()) {
    variants.erase(fast, variants.end());
  }
  for (const worker::Variant& variant : variants) {
    benchmark::RegisterBenchmark(
        fmt::format("{}/{}", key.text, variant.text).c_str(),
        [this, key, variant](benchmark::State& state) { run(state, key, variant); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  if (variants.empty()) {
    const std::string reason =
        supported.ok() ? "the backend lists no variant of this key" : supported.reason;
    benchmark::RegisterBenchmark(key.text.c_str(), [reason](benchmark::State& state) {
      state.SkipWithError(reason.c_str());
    });
  }
}

LayerBenchmarks::Prepared& LayerBenchmarks::prepare(const model::LayerKey& key,
                                                    const worker::Variant& variant) {
  if (!prepared_ || prepared_->request.key != key) {
    prepared_.reset();  // before the next key's operands are there
    prepared_ = std::make_unique<Prepared>(backend_, clock_, key);
  }
  if (prepared_->candidate.variant.text != variant.text) {
    Candidate candidate;
    candidate.variant = variant;
    prepared_->candidate = std::move(candidate);
    if (prepared_->preparation.make_ready(prepared_->candidate)) {
      guarded(prepared_->candidate.row,
              [&] { prepared_->repetitions = warm_up(*prepared_->candidate.program, clock_); });
    }
  }
  return *prepared_;
}

void LayerBenchmarks::run(benchmark::State& state,
                          const model::LayerKey& key,
                          const worker::Variant& variant) {
  Prepared& prepared = prepare(key, variant);
  results::Outcome& outcome = prepared.candidate.row.outcome;
  if (outcome.ok()) {
    // Google Benchmark expects no exceptions.
    guarded(outcome, [&] {
      HotRegion region(*prepared.candidate.program);
      const std::size_t repetitions = prepared.repetitions;
      const auto executions = static_cast<double>(repetitions);
      const Seconds overhead = overhead_.at(repetitions) * executions;
      while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(repetitions))) {
        const Seconds begin = clock_();
        region.run(repetitions);
        const Seconds whole = clock_() - begin - overhead;
        state.SetIterationTime(std::max(whole, kShortest * executions).count());
      }
    });
  }
  if (!outcome.ok()) {
    state.SkipWithError(fmt::format("{}: {}", to_text(outcome.kind), outcome.reason).c_str());
    return;
  }
  if (variant.library_choice) {
    state.SetLabel("library's choice");
  }
  count_work(state, model::compute_cost(model::parse_key(key)));
}

}  // namespace plumb::engine
