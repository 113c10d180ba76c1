// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/layer_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

namespace plumb::engine {

std::vector<std::size_t> within_margin(std::span<const std::optional<Seconds>> times,
                                       double margin) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i]) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return *times[left] < *times[right];
  });
  const auto far = std::find_if(order.begin(), order.end(), [&](std::size_t index) {
    return *times[index] > *times[order.front()] * (1.0 + margin);
  });
  order.erase(far, order.end());
  return order;
}

std::size_t survivors(std::size_t contestants, std::size_t most) {
  return std::min(contestants, std::max(most, (contestants + 1) / 2));
}

namespace {

constexpr double kKeepAll = 1.0;          // margin from which all that finish the race are kept
constexpr std::size_t kMaxFinalists = 2;  // beside the library's choice
constexpr double kLook = 0.125;  // share of the race's budget after which the dominated are dropped
constexpr double kFinalLook =
    0.25;  // share of the full budget after which a beaten finalist is dropped
constexpr double kWorthwhile = 0.01;          // smaller gains do not count
constexpr double kDominated = 1.5;            // times the best, after kLook
constexpr std::size_t kShortAttribute = 256;  // bytes, in a race's row
constexpr double kDominatedAtOnce =
    3.0;  // times the best, at a first call that lasts longer than the race

/// Value of `best` with which drop_losers() drops only programs beyond the memory limit.
constexpr Seconds kNoneDominated{std::numeric_limits<double>::infinity()};

std::vector<results::CacheMode> without_duplicates(const std::vector<results::CacheMode>& asked) {
  std::vector<results::CacheMode> result;
  for (const results::CacheMode cache : asked) {
    if (std::find(result.begin(), result.end(), cache) == result.end()) {
      result.push_back(cache);
    }
  }
  return result;
}

}  // namespace

LayerMeasurement::LayerMeasurement(Candidate::Timing::Instruments instruments,
                                   const worker::WorkerService::MeasureRequest& request,
                                   const std::function<void(results::Measurement)>& emit,
                                   const worker::AwaitTurn& await_turn)
    : instruments_(instruments),
      request_(request),
      emit_(emit),
      await_turn_(await_turn),
      caches_(request.caches) {
  if (caches_.empty()) {
    caches_.push_back(results::CacheMode::kNone);
  }
}

void LayerMeasurement::run() {
  results::Measurement row;
  guarded(row, [&] {
    const model::LayerSpec spec = model::parse_key(request_.key);
    caches_ = without_duplicates(caches_);
    // For the worker's log, in case the library takes the process down.
    fmt::print(stderr, "measuring {} (seed {})\n", request_.key.text, request_.seed);
    row.outcome = instruments_.backend.supports(request_.key);
    if (row.outcome.ok()) {
      measure_variants(spec);
    }
  });
  if (!row.outcome.ok()) {
    emit_failure(row, row.outcome);
  }
  fill_missing_rows();
}

void LayerMeasurement::measure_variants(const model::LayerSpec& spec) {
  const std::vector<worker::Variant> offered = instruments_.backend.variants(request_.key);
  std::vector<Candidate> candidates;
  const auto add = [&](const worker::Variant& variant) {
    Candidate candidate;
    candidate.variant = variant;
    candidate.row.key = request_.key;
    candidate.row.variant = variant.text;
    candidate.row.library_choice = variant.library_choice;
    candidate.row.reference_implementation = variant.reference_implementation;
    candidate.row.attributes = variant.attributes;
    candidates.push_back(std::move(candidate));
  };
  if (request_.variants.empty()) {
    std::for_each(offered.begin(), offered.end(), add);
  }
  for (const std::string& name : request_.variants) {
    const auto found =
        std::find_if(offered.begin(), offered.end(), [&](const worker::Variant& variant) {
          return variant.text == name;
        });
    if (found != offered.end()) {
      add(*found);
      continue;
    }
    results::Measurement unknown;
    unknown.variant = name;
    emit_failure(unknown,
                 {results::Outcome::Kind::kUnsupported,
                  fmt::format("the backend has no variant '{}' of this key here", name)});
  }
  if (candidates.empty() && request_.variants.empty()) {
    emit_failure(
        {}, {results::Outcome::Kind::kUnsupported, "the backend lists no variant of this key"});
    return;
  }
  preparation_.emplace(instruments_.backend, instruments_.timing.clock(), request_, spec);
  timing_.emplace(instruments_, request_, model::compute_cost(spec));
  if (!request_.variants.empty()) {
    for (Candidate& candidate : candidates) {
      if (make_ready(candidate)) {
        const bool slow = candidate.variant.reference_implementation;
        measure_fully(
            candidate, slow ? reference_plan(request_.sampling) : request_.sampling, caches_);
      }
      candidate.program.reset();
    }
    return;
  }
  measure_all(candidates);
  measure_references(candidates);
}

void LayerMeasurement::measure_all(std::vector<Candidate>& candidates) {
  race(candidates);
  const std::vector<std::size_t> finalists = halving_round(candidates);
  measure::SamplingPlan hot = request_.sampling;
  // The race warmed up everything except the caches.
  hot.warm_up_at_most = std::min(hot.warm_up_at_most, hot.budget / 2.0);
  const auto hot_end =
      std::stable_partition(caches_.begin(), caches_.end(), [](results::CacheMode cache) {
        return cache == results::CacheMode::kNone;
      });
  std::optional<Seconds> fastest;
  for (const std::size_t finalist : finalists) {
    Candidate& candidate = candidates[finalist];
    if (make_ready(candidate)) {
      measure_fully(
          candidate, hot, {caches_.begin(), hot_end}, keep_all() ? std::nullopt : fastest);
      fastest = std::min(fastest.value_or(candidate.execution), candidate.execution);
      drop_losers(candidates, kNoneDominated);
    }
  }
  // Cold buffers cost the most time, so only candidates that bounds or estimates can use are timed.
  for (const std::size_t finalist : finalists) {
    Candidate& candidate = candidates[finalist];
    const bool wanted =
        keep_all() || candidate.variant.library_choice || candidate.execution == fastest;
    if (wanted && hot_end != caches_.end() && make_ready(candidate)) {
      measure_fully(candidate, hot, {hot_end, caches_.end()});
    }
    candidate.program.reset();
  }
}

bool LayerMeasurement::keep_all() const {
  return request_.race_margin >= kKeepAll;
}

double LayerMeasurement::margin() const {
  return keep_all() ? std::numeric_limits<double>::infinity() : request_.race_margin;
}

void LayerMeasurement::race(std::vector<Candidate>& candidates) {
  const auto fast =
      std::count_if(candidates.begin(), candidates.end(), [](const Candidate& candidate) {
        return !candidate.variant.reference_implementation;
      });
  std::optional<Seconds> best;
  for (Candidate& candidate : candidates) {
    if (candidate.variant.reference_implementation) {
      continue;
    }
    const Seconds begin = instruments_.timing.clock()();
    if (!make_ready(candidate)) {
      continue;
    }
    if (fast == 1) {
      candidate.raced = candidate.execution;  // no other candidate to race against
      continue;
    }
    race_row(candidate, begin, [&](results::Measurement& row) { race_one(candidate, best, row); });
    if (candidate.raced) {
      best = std::min(best.value_or(*candidate.raced), *candidate.raced);
    }
    drop_losers(candidates, best.value_or(Seconds(0.0)));
  }
}

void LayerMeasurement::race_row(Candidate& candidate,
                                Seconds begin,
                                const std::function<void(results::Measurement&)>& time) {
  results::Measurement row = candidate.row;
  row.purpose = results::Purpose::kRace;
  row.attributes = results::short_attributes(row.attributes, kShortAttribute);
  guarded(row, [&] { time(row); });
  row.wall = instruments_.timing.clock()() - begin;
  candidate.raced.reset();
  if (row.outcome.timed()) {
    candidate.raced = row.corrected().median;
    emit(row);
  } else {
    emit_failure(row, row.outcome);
    candidate.program.reset();
  }
}

std::vector<std::size_t> LayerMeasurement::halving_round(std::vector<Candidate>& candidates) {
  std::vector<std::optional<Seconds>> times(candidates.size());
  std::transform(candidates.begin(), candidates.end(), times.begin(), [](const Candidate& each) {
    return each.raced;
  });
  std::vector<std::size_t> close = within_margin(times, margin());
  Seconds budget = request_.race_budget;
  while (!keep_all() && close.size() > kMaxFinalists) {
    for (const std::size_t index : close) {
      Candidate& candidate = candidates[index];
      const Seconds begin = instruments_.timing.clock()();
      if (!make_ready(candidate)) {
        candidate.raced.reset();
        continue;
      }
      race_row(candidate, begin, [&](results::Measurement& row) {
        const Seconds first = candidate.row.first_call.value_or(Seconds(0.0));
        timing_->time_hot(candidate, race_plan(request_.sampling, budget, first), row);
      });
      drop_losers(candidates, kNoneDominated);
    }
    const std::size_t stay = survivors(close.size(), kMaxFinalists);
    times.assign(candidates.size(), std::nullopt);
    for (const std::size_t index : close) {
      times[index] = candidates[index].raced;
    }
    const std::vector<std::size_t> order =
        within_margin(times, std::numeric_limits<double>::infinity());
    for (std::size_t place = stay; place < order.size(); ++place) {
      Candidate& out = candidates[order[place]];
      if (!out.variant.library_choice) {
        out.program.reset();
      }
    }
    close.assign(order.begin(),
                 order.begin() + static_cast<std::ptrdiff_t>(std::min(stay, order.size())));
    // Half as many candidates with twice the time each: all rounds take about as long.
    budget *= 2.0;
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const bool in = std::find(close.begin(), close.end(), i) != close.end();
    if (candidates[i].variant.library_choice && candidates[i].raced && !in) {
      close.push_back(i);
    }
  }
  return close;
}

void LayerMeasurement::race_one(Candidate& candidate,
                                std::optional<Seconds> best,
                                results::Measurement& row) {
  const Seconds first = candidate.row.first_call.value_or(Seconds(0.0));
  if (keep_all()) {
    best.reset();  // none is dropped early
  }
  if (best && first > request_.race_budget && first > *best * kDominatedAtOnce) {
    row.samples = {first};
    row.summary = measure::summarize(row.samples);
    return;
  }
  const auto run = [&](Seconds budget) {
    timing_->time_hot(candidate, race_plan(request_.sampling, budget, first), row);
  };
  if (best) {
    run(request_.race_budget * kLook);
    if (!row.outcome.timed() || row.corrected().median > *best * kDominated) {
      return;
    }
  }
  run(request_.race_budget);
}

void LayerMeasurement::drop_losers(std::vector<Candidate>& candidates, Seconds best) const {
  Bytes kept;
  for (Candidate& candidate : candidates) {
    if (!candidate.program) {
      continue;
    }
    const bool lost = candidate.raced && !candidate.variant.library_choice &&
                      *candidate.raced > best * (1.0 + margin());
    kept +=
        candidate.facts.weight_bytes + candidate.facts.activation_bytes + candidate.facts.workspace;
    if (lost || kept > instruments_.slot_memory) {
      candidate.program.reset();
    }
  }
}

void LayerMeasurement::measure_references(std::vector<Candidate>& candidates) {
  for (Candidate& candidate : candidates) {
    if (!candidate.variant.reference_implementation) {
      continue;
    }
    if (timed_) {
      emit_failure(candidate.row,
                   {results::Outcome::Kind::kSkipped,
                    "available; a reference implementation while others exist"});
      continue;
    }
    if (make_ready(candidate)) {
      measure_fully(candidate, reference_plan(request_.sampling), caches_);
    }
    candidate.program.reset();
  }
}

bool LayerMeasurement::make_ready(Candidate& candidate) {
  const bool ready = preparation_->make_ready(candidate);
  if (!ready) {
    emit_failure(candidate.row, candidate.row.outcome);
  }
  return ready;
}

void LayerMeasurement::measure_fully(Candidate& candidate,
                                     const measure::SamplingPlan& hot,
                                     std::span<const results::CacheMode> caches,
                                     std::optional<Seconds> rival) {
  for (const results::CacheMode cache : caches) {
    const Seconds begin = instruments_.timing.clock()();
    results::Measurement row = candidate.row;
    row.cache = cache;
    row.purpose = request_.purpose;
    guarded(row, [&] {
      if (!candidate.row.reorder) {
        candidate.row.reorder = row.reorder = candidate.program->reorder_time();
      }
      if (cache == results::CacheMode::kNone && request_.in_turns) {
        timing_->time_in_turns(candidate, hot, await_turn_, row);
        look_at(candidate, row);
      } else if (cache == results::CacheMode::kNone) {
        if (!rival || may_beat(candidate, *rival, hot, row)) {
          timing_->time_hot(candidate, hot, row);
          look_at(candidate, row);
        }
      } else {
        timing_->time_cold(candidate, preparation_->operands(), row);
      }
    });
    row.wall = instruments_.timing.clock()() - begin;
    if (cache == caches_.front() && !candidate.raced) {
      row.wall += candidate.row.wall;  // preparation and verification
    }
    timed_ = timed_ || row.outcome.timed();
    emit(std::move(row));
  }
}

void LayerMeasurement::look_at(Candidate& candidate, results::Measurement& row) {
  if (!row.outcome.timed()) {
    return;
  }
  // The energy of an execution takes ten times as long as its time, and is the same in each
  // process.
  const bool again = request_.purpose == results::Purpose::kConfirm;
  worker::Program::Observation seen =
      candidate.program->collect_counters(0, again ? Seconds(0.0) : request_.sampling.budget);
  seen.attributes.merge(candidate.row.attributes);  // observed values win
  candidate.row.attributes = std::move(seen.attributes);
  row.attributes = candidate.row.attributes;
  row.readings.merge(seen.readings);
}

bool LayerMeasurement::may_beat(Candidate& candidate,
                                Seconds rival,
                                const measure::SamplingPlan& full,
                                results::Measurement& row) {
  measure::SamplingPlan look = full;
  look.budget = full.budget * kFinalLook;
  timing_->time_hot(candidate, look, row);
  return !row.outcome.timed() || row.corrected().interval.low < rival * (1.0 - kWorthwhile);
}

void LayerMeasurement::emit(results::Measurement row) {
  row.key = request_.key;
  if (row.purpose != results::Purpose::kRace) {
    emitted_.push_back(row.cache);
  }
  emit_(std::move(row));
}

void LayerMeasurement::emit_failure(const results::Measurement& shared, results::Outcome outcome) {
  if (!worst_ || outcome.kind != results::Outcome::Kind::kSkipped) {
    worst_ = outcome;
  }
  results::Measurement row = shared;
  row.cache = caches_.empty() ? results::CacheMode::kNone : caches_.front();
  row.purpose = request_.purpose;
  row.outcome = std::move(outcome);
  row.samples.clear();
  row.summary = {};
  emit(std::move(row));
}

void LayerMeasurement::fill_missing_rows() {
  for (const results::CacheMode cache : caches_) {
    if (std::find(emitted_.begin(), emitted_.end(), cache) != emitted_.end()) {
      continue;
    }
    results::Measurement row;
    row.cache = cache;
    row.purpose = request_.purpose;
    row.outcome = worst_.value_or(
        results::Outcome{results::Outcome::Kind::kSkipped, "no variant was measured"});
    emit(std::move(row));
  }
}

}  // namespace plumb::engine
