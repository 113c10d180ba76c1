// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/candidate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "runners/engine/bench/layer_timing.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/exec/this_process.hpp"

namespace plumb::engine {
namespace {

/// Returns how a row tells that an allocation failed.
std::string failed_allocation() {
  const std::string reason = "the worker could not allocate memory";
  const std::optional<Bytes> limit = memory_limit();
  return limit ? fmt::format("{}: it may take {} bytes", reason, limit->value) : reason;
}

}  // namespace

void guarded(results::Outcome& outcome, const std::function<void()>& step) {
  try {
    step();
  } catch (const std::bad_alloc&) {
    outcome = {results::Outcome::Kind::kOutOfMemory, failed_allocation()};
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::kInternal) {
      throw;
    }
    outcome = {results::Outcome::Kind::kUnsupported, error.what()};
  } catch (const std::exception& error) {
    outcome = {results::Outcome::Kind::kCrashed,
               fmt::format("the backend threw: {}", error.what())};
  }
}

results::Outcome check_free_memory(Bytes needed) {
  const std::optional<Bytes> available = available_memory();
  if (!available || needed <= *available) {
    return {};
  }
  return {results::Outcome::Kind::kOutOfMemory,
          fmt::format(
              "{} bytes of memory are needed, and {} are free", needed.value, available->value)};
}

void add_needed_memory(results::Outcome& outcome, Bytes execution, Bytes verification) {
  if (outcome.kind == results::Outcome::Kind::kOutOfMemory && execution.value > 0) {
    outcome.reason += fmt::format(
        "; executing it takes {} bytes, and verifying it {}",
        execution.value,
        verification.value > 0 ? fmt::format("{} bytes more", verification.value) : "more");
  }
}

Candidate::Preparation::Preparation(worker::Backend& backend,
                                    const measure::Clock& clock,
                                    const worker::WorkerService::MeasureRequest& request,
                                    model::LayerSpec spec)
    : backend_(backend),
      clock_(clock),
      request_(request),
      spec_(std::move(spec)),
      operands_(random_operands(spec_, request.seed)) {}

bool Candidate::Preparation::make_ready(Candidate& candidate) {
  if (candidate.program) {
    return true;
  }
  const Seconds begin = clock_();
  results::Measurement& row = candidate.row;
  guarded(row, [&] {
    worker::Backend::Prepared prepared = backend_.prepare(request_.key, candidate.variant.text);
    row.outcome = prepared.outcome;
    if (!row.outcome.ok()) {
      return;
    }
    PLUMB_CHECK(prepared.program != nullptr);
    candidate.program = std::move(prepared.program);
    const Seconds bound = clock_();
    candidate.program->bind(0, operands_, false);
    candidate.slots = 1;
    candidate.bind = clock_() - bound;
    const Seconds called = clock_();
    candidate.program->enqueue(0);
    candidate.program->synchronize();
    const Seconds first_call = clock_() - called;
    if (!candidate.verified) {
      candidate.facts = candidate.program->facts();
      row.creation = candidate.facts.creation;
      row.workspace = candidate.facts.workspace;
      row.attributes.merge(results::Attributes(candidate.facts.attributes));
      row.first_call = first_call;
      candidate.execution = first_call;
      verify(candidate);
    }
  });
  row.wall = clock_() - begin;
  if (!row.outcome.ok()) {
    candidate.program.reset();
  }
  return row.outcome.ok();
}

void Candidate::Preparation::verify(Candidate& candidate) {
  const std::vector<model::Tensor> outputs = candidate.program->outputs(0);
  candidate.verified = true;
  if (!request_.verify) {
    candidate.row.output_hash = output_hash(outputs);
    return;
  }
  if (!verifier_) {
    Verifier::Options options;
    options.fully_below_macs = request_.verify_fully_below_macs;
    options.seed = request_.seed;
    verifier_.emplace(spec_, operands_, options);
  }
  const Verifier::Verdict verdict = verifier_->verify(
      outputs, find_arithmetic(candidate.variant.text, candidate.facts.attributes));
  candidate.row.maximum_error = verdict.maximum_error;
  candidate.row.output_hash = verdict.output_hash;
  // Without a reference, the absent error says that nothing was compared.
  if (verdict.outcome.kind != results::Outcome::Kind::kUnsupported) {
    candidate.row.outcome = verdict.outcome;
  }
}

namespace {

constexpr double kColdWall =
    4.0;  // sampling budgets that a cold block may take, preparation included
constexpr Seconds kNeverFlush{3600.0};
constexpr std::size_t kTurns = 6;        // of a hot block, beside another worker's
constexpr double kColdHalfWidth = 0.01;  // cold samples scatter more: no tighter than this

}  // namespace

measure::SamplingPlan race_plan(const measure::SamplingPlan& full,
                                Seconds budget,
                                Seconds first_call) {
  measure::SamplingPlan plan = full;
  plan.budget = budget;
  plan.relative_half_width = std::max(plan.relative_half_width, 0.02);
  plan.samples_at_least = 3;
  plan.warm_up_at_least = std::min(plan.warm_up_at_least, budget / 10.0);
  // A program that runs longer than the whole race was warmed up by its first call.
  plan.warm_up_at_most = first_call > budget ? Seconds(0.0) : budget / 2.0;
  return plan;
}

measure::SamplingPlan reference_plan(const measure::SamplingPlan& full) {
  measure::SamplingPlan plan = full;
  plan.warm_up_at_most = Seconds(0.0);
  plan.budget = std::max(plan.budget, Seconds(0.5));
  plan.samples_at_least = 2;
  plan.samples_at_most = 3;
  return plan;
}

void Candidate::Timing::time_hot(Candidate& candidate,
                                 const measure::SamplingPlan& plan,
                                 results::Measurement& row) {
  LayerTiming::HotRegion region(*candidate.program);
  instruments_.timing.time(region, plan, request_.disturbed_attempts, row);
  if (row.outcome.timed()) {
    candidate.execution = row.corrected().median;
  }
}

void Candidate::Timing::time_in_turns(Candidate& candidate,
                                      const measure::SamplingPlan& plan,
                                      const worker::AwaitTurn& await_turn,
                                      results::Measurement& row) {
  LayerTiming::HotRegion region(*candidate.program);
  instruments_.timing.time_in_turns(region, plan, kTurns, await_turn, row);
  if (row.outcome.timed()) {
    candidate.execution = row.corrected().median;
  }
}

Bytes Candidate::Timing::rotating_bytes(const Candidate& candidate,
                                        results::CacheMode cache) const {
  Bytes bytes =
      candidate.facts.weight_bytes.value > 0 ? candidate.facts.weight_bytes : cost_.weight_bytes;
  if (cache == results::CacheMode::kAll) {
    bytes += candidate.facts.activation_bytes.value > 0 ? candidate.facts.activation_bytes
                                                        : cost_.input_bytes + cost_.output_bytes;
  }
  return bytes;
}

void Candidate::Timing::time_cold(Candidate& candidate,
                                  const std::vector<model::Tensor>& operands,
                                  results::Measurement& row) {
  const bool weights_only = row.cache == results::CacheMode::kWeights;
  const bool slow = candidate.variant.reference_implementation;
  LayerTiming::Rotation::Costs costs;
  costs.slot = rotating_bytes(candidate, row.cache);
  costs.cache = instruments_.flush.cache();
  costs.memory = instruments_.slot_memory;
  costs.bind = candidate.bind;
  // A device's clock times one execution less exactly than a ring: flush only where no ring fits.
  costs.flush = instruments_.flush.on_device() ? kNeverFlush : instruments_.flush.cost();
  costs.execution = candidate.execution;
  costs.wall = request_.sampling.budget * kColdWall;
  // Without weights nothing rotates; only the activations are refreshed.
  const LayerTiming::Rotation rotation =
      costs.slot.value > 0 ? plan_rotation(costs) : LayerTiming::Rotation{1, false, 31};

  std::vector<std::size_t> ring;
  for (std::size_t i = rotation.flush ? 0 : 1; i < rotation.slots; ++i) {
    candidate.program->bind(candidate.slots, operands, weights_only);
    ring.push_back(candidate.slots++);
  }
  if (!rotation.flush) {
    // Slot 0 is warm from earlier executions, so it comes last.
    ring.push_back(0);
  }
  LayerTiming::ColdRegion region(*candidate.program,
                                 std::move(ring),
                                 rotation.flush ? &instruments_.flush : nullptr,
                                 weights_only);
  if (!rotation.flush) {
    region.run(1);  // what all slots share is warm from here on
  }
  measure::SamplingPlan plan = slow ? reference_plan(request_.sampling) : request_.sampling;
  plan.warm_up_at_most = Seconds(0.0);
  plan.relative_half_width = std::max(plan.relative_half_width, kColdHalfWidth);
  plan.samples_at_most = std::min(plan.samples_at_most, rotation.samples);
  plan.samples_at_least = std::min(plan.samples_at_least, plan.samples_at_most);
  instruments_.timing.time(region, plan, request_.disturbed_attempts, row);
}

}  // namespace plumb::engine
