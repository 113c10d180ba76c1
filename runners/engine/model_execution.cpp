// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/model_execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "harness/results/reading_sum.hpp"
#include "runners/engine/candidate.hpp"
#include "runners/engine/memory_limit.hpp"
#include "runners/engine/model_profile.hpp"
#include "runners/engine/output_difference.hpp"
#include "runners/engine/program_region.hpp"
#include "runners/engine/verification.hpp"

namespace plumb {
namespace {

constexpr std::size_t kRounds = 8;          // of modes timed in turns
constexpr std::size_t kSamplesInRound = 3;  // at least: a slow model has no time for more
constexpr std::size_t kProfilePasses = 64;  // at most, in all rounds together
constexpr double kShareOfMemory = 0.8;      // that modes may fill together

/// Adds one block of samples to those before it.
void add_block(const Measurement& block, Measurement& row) {
  row.samples.insert(row.samples.end(), block.samples.begin(), block.samples.end());
  row.repetitions = std::max(row.repetitions, block.repetitions);
  row.floor = std::max(row.floor, block.floor);
  row.attempt = std::max(row.attempt, block.attempt);
  row.disturbance.involuntary_switches += block.disturbance.involuntary_switches;
  row.disturbance.disturbed = row.disturbance.disturbed || block.disturbance.disturbed;
  row.disturbance.load = block.disturbance.load;
  add_readings(row.readings, block.readings);
  const auto highest = [](std::optional<double>& known, const std::optional<double>& next) {
    known = next ? std::max(known.value_or(*next), *next) : known;
  };
  highest(row.disturbance.steal_ratio, block.disturbance.steal_ratio);
  highest(row.disturbance.pressure_ratio, block.disturbance.pressure_ratio);
}

}  // namespace

ModelExecution::ModelExecution(Backend& backend,
                               LayerTiming& timing,
                               Bytes last_level_cache,
                               const ExecuteRequest& request)
    : backend_(backend),
      timing_(timing),
      last_level_cache_(last_level_cache),
      request_(request),
      modes_(request.modes.size()) {}

void ModelExecution::guard(Mode& mode, const std::function<void()>& step) {
  if (!mode.execution.row.outcome.ok()) {
    return;
  }
  const Seconds begin = timing_.clock()();
  guarded(mode.execution.row, step);
  mode.wall += timing_.clock()() - begin;
}

void ModelExecution::prepare(const RequestedModel& model, std::size_t index) {
  Mode& mode = modes_[index];
  Measurement& row = mode.execution.row;
  mode.ready = prepare_mode(backend_, model, request_.modes[index]);
  row.outcome = mode.ready.outcome;
  mode.execution.memory = mode.ready.prepared.memory;
  mode.execution.reorders = static_cast<std::int64_t>(mode.ready.prepared.reorders);
  if (mode.ready.prepared.program) {
    const ProgramFacts facts = mode.ready.prepared.program->facts();
    row.creation = facts.creation;
    row.workspace = facts.workspace;
  }
}

void ModelExecution::finish(const RequestedModel& model, std::size_t index) {
  Mode& mode = modes_[index];
  Measurement& row = mode.execution.row;
  make_ready(model, timing_.clock(), mode.ready);
  row.outcome = mode.ready.outcome;
  if (!row.outcome.ok()) {
    return;
  }
  row.first_call = mode.ready.first_call;
  row.output_hash = output_hash(mode.ready.outputs);
  compare(mode);
  mode.ready.outputs.clear();
}

void ModelExecution::compare(Mode& mode) {
  if (&mode == &modes_.front()) {
    expected_ = mode.ready.outputs;
    return;
  }
  if (expected_.empty()) {
    return;  // nothing to compare with
  }
  const double error = largest_difference(mode.ready.outputs, expected_);
  mode.execution.row.maximum_error = error;
  const double most =
      tolerated_difference(mode.ready.outputs, execution_mode_from(mode.execution.mode));
  if (error > most) {
    mode.execution.row.outcome = {
        Outcome::Kind::kWrongResult,
        fmt::format("an output differs from that of the mode {} by {:.3g} of its largest "
                    "magnitude; up to {:g} is taken for rounding",
                    modes_.front().execution.mode,
                    error,
                    most)};
  }
}

bool ModelExecution::fit_together() const {
  Bytes needed;
  for (const Mode& mode : modes_) {
    needed += mode.execution.memory;
  }
  const std::optional<Bytes> available = available_memory();
  return !available || static_cast<double>(needed.value) <=
                           kShareOfMemory * static_cast<double>(available->value);
}

void ModelExecution::time(std::size_t first, std::size_t last) {
  const bool alone = last - first == 1;
  const std::size_t rounds = alone ? 1 : kRounds;
  SamplingPlan plan = request_.sampling;
  plan.budget /= static_cast<double>(rounds);
  if (!alone) {
    plan.samples_at_least = std::min(plan.samples_at_least, kSamplesInRound);
  }
  std::vector<ModelProfile> profiles;
  for (std::size_t i = first; i < last; ++i) {
    profiles.emplace_back(modes_[i].ready, Bytes{2 * last_level_cache_.value});
  }
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = first; i < last; ++i) {
      // There and back: what drifts with time, drifts alike for all.
      const std::size_t turn = round % 2 == 0 ? i : first + last - 1 - i;
      Mode& mode = modes_[turn];
      guard(mode, [&] {
        Measurement block = mode.execution.row;
        block.samples.clear();
        block.readings.clear();
        HotRegion region(*mode.ready.prepared.program);
        timing_.time(region, plan, request_.disturbed_attempts, block);
        if (block.outcome.kind == Outcome::Kind::kSkipped) {
          mode.execution.row.outcome = block.outcome;
          return;
        }
        if (const auto fault = block.attributes.find(kDeviceFault);
            fault != block.attributes.end()) {
          mode.execution.row.attributes.insert(*fault);
          mode.execution.row.outcome = block.outcome;
          return;
        }
        add_block(block, mode.execution.row);
        // Apart from the timed part, as a clock read between steps is a cost of its own, but beside
        // it: what is predicted from the steps is compared with what was timed.
        profiles[turn - first].add(kProfilePasses / rounds, plan.budget, timing_.clock());
      });
    }
  }
  for (std::size_t i = first; i < last; ++i) {
    Measurement& row = modes_[i].execution.row;
    if (row.outcome.ok()) {
      row.summary = summarize(row.samples);
      row.outcome = stability_of(row.summary);
      modes_[i].execution.layers = profiles[i - first].layers(timing_.floor().at(1));
      modes_[i].execution.in_turn = profiles[i - first].in_turn(timing_.floor().at(1));
    }
    look_at(modes_[i]);
    modes_[i].ready = {};
  }
}

void ModelExecution::look_at(Mode& mode) {
  Measurement& row = mode.execution.row;
  if (!row.outcome.timed()) {
    return;
  }
  Observation seen;
  Measurement look;  // a look that fails costs the row nothing
  guarded(look, [&] { seen = mode.ready.prepared.program->observe(0, request_.sampling.budget); });
  row.attributes.merge(seen.attributes);
  add_readings(row.readings, seen.readings);
}

void ModelExecution::run(const std::function<void(Execution)>& emit) {
  for (std::size_t i = 0; i < modes_.size(); ++i) {
    Execution& execution = modes_[i].execution;
    execution.mode = to_text(request_.modes[i].mode);
    execution.row.key.text = "model:" + request_.name;
    execution.row.variant = execution.mode;
    execution.row.started = current_time();
  }
  fmt::print(stderr, "executing {} (seed {})\n", request_.name, request_.seed);
  std::optional<RequestedModel> model;
  const auto for_all = [&](const std::function<void()>& step) {
    Measurement trial;
    guarded(trial, step);
    for (Mode& mode : modes_) {
      if (mode.execution.row.outcome.ok()) {
        mode.execution.row.outcome = trial.outcome;
      }
    }
    return trial.outcome.ok();
  };
  if (for_all([&] { model.emplace(request_); })) {
    for (std::size_t i = 0; i < modes_.size(); ++i) {
      guard(modes_[i], [&] { prepare(*model, i); });
    }
    const bool any = std::any_of(modes_.begin(), modes_.end(), [](const Mode& mode) {
      return mode.execution.row.outcome.ok();
    });
    if (any && for_all([&] { model->fill(); })) {
      const std::size_t together = fit_together() ? modes_.size() : 1;
      for (std::size_t first = 0; first < modes_.size(); first += together) {
        const std::size_t last = std::min(first + together, modes_.size());
        for (std::size_t i = first; i < last; ++i) {
          guard(modes_[i], [&] { finish(*model, i); });
        }
        time(first, last);
      }
    }
  }
  for (Mode& mode : modes_) {
    mode.execution.row.wall = mode.wall;
    emit(std::move(mode.execution));
  }
}

}  // namespace plumb
