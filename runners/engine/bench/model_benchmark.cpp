// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/model_benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <utility>

#include "harness/measure/sample_summary.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/results/measurement.hpp"
#include "runners/engine/bench/candidate.hpp"
#include "runners/engine/bench/layer_timing.hpp"
#include "runners/engine/bench/verification.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/exec/reference_comparison.hpp"
#include "runners/engine/exec/this_process.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/profile/address_sampler.hpp"

namespace plumb::engine {
namespace {

constexpr std::size_t kMaxRounds = 32;        // of modes timed in turns
constexpr Seconds kBudgetOfRound{0.008};      // at least, of each mode
constexpr std::size_t kRoundsOfSlow = 4;      // of models for which more rounds do not fit
constexpr std::size_t kRoundsUnprofiled = 3;  // of a model whose steps another process has timed
constexpr double kShareBeside = 0.5;  // of the memory that modes fill beside another worker's
constexpr Seconds kLongest{60.0};     // of all rounds, each mode; the first one ends anyway
constexpr Seconds kBetweenReports{1.0};
constexpr std::size_t kSamplesInRound = 3;   // at least: a slow model has no time for more
constexpr std::size_t kSamplesBeside = 1;    // … beside another worker: short turns are alike
constexpr std::size_t kRoundsOfSlowest = 2;  // … whose rounds exceed the budget
constexpr Seconds kWarmsItself{0.1};         // … execution that fills the caches by itself
constexpr std::size_t kPassesInRound = 8;    // over the steps, at most
constexpr double kMinParts = 2.0;            // of a pass over the steps, in turns with the modes
constexpr double kMaxParts = 8.0;
constexpr double kExecutionsOfPart = 3.0;  // beside its steps: its own, one to warm up, one timed
constexpr double kShareOfMemory = 0.8;     // that modes may fill together

/// Returns how many rounds of a length fit into a budget, at least 1.
std::size_t rounds_in(Seconds budget, Seconds round, std::size_t most) {
  return static_cast<std::size_t>(std::clamp(budget / round, 1.0, static_cast<double>(most)));
}

/// Returns the estimated share of the time that has passed after `done` of `rounds` rounds. The
/// first round took its share of the `planned` rounds.
double share_of_time(double done, std::size_t planned, std::size_t rounds) {
  const double first = 1.0 / static_cast<double>(planned);
  return done <= 1.0 ? done * first
                     : first + (1.0 - first) * (done - 1.0) / static_cast<double>(rounds - 1);
}

/// Returns the number of parts of a pass over the steps. With it, the executions between the parts
/// take about as long as the steps.
std::size_t parts_of_pass(Seconds pass, Seconds execution) {
  if (execution <= Seconds(0.0) || pass <= Seconds(0.0)) {
    return 1;
  }
  const Seconds beside = kExecutionsOfPart * execution;
  return static_cast<std::size_t>(std::clamp(std::ceil(pass / beside), kMinParts, kMaxParts));
}

}  // namespace

ModelBenchmark::ModelBenchmark(worker::Backend& backend,
                               LayerTiming& timing,
                               const worker::ExecuteRequest& request)
    : backend_(backend), timing_(timing), request_(request), modes_(request.modes.size()) {}

void ModelBenchmark::guard(Mode& mode, const std::function<void()>& step) {
  if (!mode.execution.row.outcome.ok()) {
    return;
  }
  const Seconds begin = timing_.clock()();
  guarded(mode.execution.row, step);
  mode.wall += timing_.clock()() - begin;
}

void ModelBenchmark::prepare(const RequestedModel& model, std::size_t index) {
  Mode& mode = modes_[index];
  results::Measurement& row = mode.execution.row;
  mode.ready = prepare_mode(backend_, model, request_.modes[index]);
  row.outcome = mode.ready.outcome;
  mode.execution.memory = mode.ready.prepared.memory;
  mode.execution.reorders = static_cast<std::int64_t>(mode.ready.prepared.reorders);
  if (mode.ready.prepared.program) {
    mode.on_host = backend_.free_memory() ? Bytes{} : mode.execution.memory;
    mode.verification = verification_memory(mode);
    const worker::Program::Facts facts = mode.ready.prepared.program->facts();
    row.creation = facts.creation;
    row.workspace = facts.workspace;
  }
}

void ModelBenchmark::finish(const RequestedModel& model,
                            std::size_t index,
                            const worker::ExecuteReport& report) {
  Mode& mode = modes_[index];
  results::Measurement& row = mode.execution.row;
  mode.verification = verification_memory(mode);  // less where the reference is known by now
  row.outcome = check_free_memory(mode.on_host + mode.verification);
  if (!row.outcome.ok()) {
    return;
  }
  make_ready(model, timing_.clock(), mode.ready);
  report_part(report);  // each of these takes long where weights are gigabytes
  row.outcome = mode.ready.outcome;
  if (!row.outcome.ok()) {
    return;
  }
  row.first_call = mode.ready.first_call;
  if (!row.creation) {  // a runtime creates its session with the weights
    row.creation = mode.ready.prepared.program->facts().creation;
  }
  row.output_hash = output_hash(mode.ready.outputs);
  mode.ready.rounding = measure_rounding(model, mode.ready, [&] { report_part(report); });
  report_part(report);
  check(model, mode, report);
  if (row.outcome.ok()) {
    compare(model, mode);
  }
  mode.ready.outputs.clear();
}

Bytes ModelBenchmark::verification_memory(const Mode& mode) const {
  return engine::verification_memory(
      mode.ready, request_.verify ? &reference_ : nullptr, backend_.free_memory().has_value());
}

void ModelBenchmark::check(const RequestedModel& model,
                           Mode& mode,
                           const worker::ExecuteReport& report) {
  if (!request_.verify) {
    return;
  }
  const auto compared = reference_.compare(model, mode.ready, [&] { report_part(report); });
  if (!compared) {
    return;
  }
  mode.execution.row.maximum_error = compared->error;
  mode.execution.row.outcome = model.judge(*compared, "the float64 reference");
}

void ModelBenchmark::compare(const RequestedModel& model, Mode& mode) {
  if (&mode == &modes_.front()) {
    expected_ = std::move(mode.ready.outputs);
    return;
  }
  if (expected_.empty()) {
    return;  // nothing to compare with
  }
  const auto type_of = [&](const Mode& each) {
    return request_.executed_type(results::execution_mode_from(each.execution.mode));
  };
  const double most = tolerated_difference(mode.ready.outputs, type_of(mode));
  const bool across = type_of(mode) != type_of(modes_.front());
  const Deviation compared =
      across ? model.deviation_across_types(mode.ready.outputs, expected_, most)
             : model.deviation(mode.ready.outputs, expected_, mode.ready.rounding, most);
  std::optional<double>& error = mode.execution.row.maximum_error;
  if (!error || !across || model.step() == nullptr) {  // of a step, the reference tells more
    error = compared.error;
  }
  mode.execution.row.outcome =
      model.judge(compared, fmt::format("that of the mode {}", modes_.front().execution.mode));
}

std::size_t ModelBenchmark::samples_in_round() const {
  return request_.in_turns ? kSamplesBeside : kSamplesInRound;
}

bool ModelBenchmark::fit_together() const {
  Bytes programs;
  Bytes on_host;
  Bytes verification;
  for (const Mode& mode : modes_) {
    programs += mode.execution.memory;
    on_host += mode.on_host;
    verification = std::max(verification, mode.verification);
  }
  if (modes_.size() > 1) {
    verification += verification;  // at most as much is kept of the modes before
  }
  const double share = request_.in_turns ? kShareOfMemory * kShareBeside : kShareOfMemory;
  const auto fit = [share](Bytes needed, std::optional<Bytes> available) {
    return !available ||
           static_cast<double>(needed.value) <= share * static_cast<double>(available->value);
  };
  return fit(programs, backend_.free_memory()) && fit(on_host + verification, available_memory());
}

void ModelBenchmark::add_repeatable_block(Mode& mode,
                                          measure::TimedRegion& region,
                                          const measure::SamplingPlan& plan) {
  results::Measurement block = mode.execution.row;
  block.samples.clear();
  block.readings.clear();
  timing_.time(region, plan, request_.disturbed_attempts, block);
  if (block.outcome.kind == results::Outcome::Kind::kSkipped) {
    mode.execution.row.outcome = block.outcome;
    return;
  }
  if (const auto fault = block.attributes.find(results::kDeviceFault);
      fault != block.attributes.end()) {
    mode.execution.row.attributes.insert(*fault);
    mode.execution.row.outcome = block.outcome;
    return;
  }
  if (mode.execution.row.disturbance.disturbed && !block.disturbance.disturbed) {
    mode.of_rounds.clear();
    mode.ended = 0;
  }
  add_block(block, mode.execution.row);
}

void ModelBenchmark::time_block(Mode& mode,
                                measure::TimedRegion& region,
                                const measure::SamplingPlan& plan) {
  if (request_.in_turns) {
    timing_.add_turn(region, plan, mode.execution.row);
  } else {
    add_repeatable_block(mode, region, plan);
  }
}

void ModelBenchmark::take_turn(Mode& mode,
                               ModelProfile& profile,
                               std::size_t rounds,
                               std::size_t parts) {
  measure::SamplingPlan plan = request_.sampling;
  plan.budget /= static_cast<double>(rounds * parts);
  plan.samples_at_least = std::min(plan.samples_at_least, (samples_in_round() + parts - 1) / parts);
  if (request_.in_turns && !mode.of_rounds.empty()) {
    // Only the caches, which a long execution fills in a small part of its time.
    plan.warm_up_at_most =
        mode.of_rounds.back() < kWarmsItself ? plan.warm_up_at_least : Seconds(0.0);
  } else if (parts > 1) {
    plan.warm_up_at_most = plan.warm_up_at_least;  // it was just executed
  }
  worker::Program& program = *mode.ready.prepared.program;
  if (sampler_) {
    BlockSampler::Region region =
        sampler_->region(program, mode.ready.prepared.needs.empty(), timing_.clock());
    sampler_->begin();
    time_block(mode, region, plan);
    sampler_->end(region, mode.samples);
  } else {
    LayerTiming::HotRegion region(program);
    time_block(mode, region, plan);
  }
  if (!mode.execution.row.outcome.timed()) {
    return;
  }
  // The steps are timed outside the timed block, because a clock read between steps is a cost of
  // its own. They follow at once, because what is predicted from them is compared with that block.
  if (request_.profile) {
    profile.add(parts, kPassesInRound, plan.budget, timing_.clock());
  }
}

void ModelBenchmark::end_round(Mode& mode, ModelProfile& profile) {
  const std::span<const Seconds> samples = mode.execution.row.samples;
  if (samples.size() > mode.ended) {
    mode.of_rounds.push_back(measure::summarize(samples.subspan(mode.ended)).median);
    mode.ended = samples.size();
    profile.end_round();
  }
}

void ModelBenchmark::sum_up(Mode& mode) {
  measure::SampleSummary& summary = mode.execution.row.summary;
  summary = measure::summarize(mode.execution.row.samples);
  if (mode.of_rounds.size() > 1) {
    // Samples of one round share the machine's state, so the interval by ranks alone may be too
    // narrow.
    const measure::Interval by_rounds = measure::section_interval(summary.median, mode.of_rounds);
    summary.interval = {std::min(summary.interval.low, by_rounds.low),
                        std::max(summary.interval.high, by_rounds.high)};
  }
}

void ModelBenchmark::report_part(const worker::ExecuteReport& report) {
  constexpr double kShareOfPart = 1e-5;  // of the rest: more than before, which a hang never is
  share_ += (1.0 - share_) * kShareOfPart;
  report_share(share_, report);
}

void ModelBenchmark::report_share(double share, const worker::ExecuteReport& report) {
  const Seconds now = timing_.clock()();
  share_ = std::max(share_, share);
  if (now - reported_ >= kBetweenReports) {
    reported_ = now;
    report({share_, now - began_});
  }
}

void ModelBenchmark::time(std::size_t first,
                          std::size_t last,
                          const worker::ExecuteReport& report,
                          const worker::AwaitTurn& await_turn) {
  std::vector<ModelProfile> profiles;
  if (request_.sampled) {
    sampler_.emplace(*request_.sampled, request_.seed);  // all threads were started by now
  }
  for (std::size_t i = first; i < last; ++i) {
    profiles.emplace_back(modes_[i].ready);
  }
  std::size_t parts = 1;  // until it is known how long a pass takes
  std::size_t turns = 0;
  const std::size_t modes = last - first;
  const bool in_few = !request_.profile && !request_.in_turns;
  const std::size_t most =
      rounds_in(request_.sampling.budget, kBudgetOfRound, in_few ? kRoundsUnprofiled : kMaxRounds);
  const std::size_t planned = rounds_in(
      request_.sampling.budget, kBudgetOfRound, in_few ? kRoundsUnprofiled : kRoundsOfSlow);
  std::size_t rounds = planned;
  const Seconds end = timing_.clock()() + kLongest * static_cast<double>(modes);
  for (std::size_t round = 0; round < rounds && (round == 0 || timing_.clock()() < end); ++round) {
    for (std::size_t part = 0; part < parts; ++part, ++turns) {
      if (request_.in_turns) {
        await_turn();
      }
      for (std::size_t i = 0; i < modes; ++i) {
        // The order alternates, so that a drift over time affects all modes alike.
        const std::size_t turn = turns % 2 == 0 ? i : modes - 1 - i;
        Mode& mode = modes_[first + turn];
        guard(mode, [&] { take_turn(mode, profiles[turn], rounds, parts); });
        const double of_round =
            static_cast<double>(part * modes + i + 1) / static_cast<double>(parts * modes);
        const double of_these =
            share_of_time(static_cast<double>(round) + of_round, planned, rounds);
        report_share((static_cast<double>(first) + static_cast<double>(modes) * of_these) /
                         static_cast<double>(modes_.size()),
                     report);
      }
    }
    for (std::size_t i = first; i < last; ++i) {
      end_round(modes_[i], profiles[i - first]);
    }
    if (round == 0) {
      Seconds slowest{};  // least time of a round of a mode
      for (std::size_t i = first; i < last; ++i) {
        const Seconds execution = measure::summarize(modes_[i].execution.row.samples).median;
        const Seconds pass = profiles[i - first].pass_time();
        slowest = std::max(slowest, pass + static_cast<double>(samples_in_round()) * execution);
        parts = std::max(parts, parts_of_pass(pass, execution));
      }
      // Many short rounds show more states of the machine, but only if all of them fit into the
      // budget.
      if (request_.in_turns) {
        const Seconds budget = request_.sampling.budget;
        rounds = slowest > budget ? std::min(planned, kRoundsOfSlowest)
                                  : std::max(planned, rounds_in(budget, slowest, most));
      } else if (slowest * static_cast<double>(most) <= request_.sampling.budget) {
        rounds = most;
      }
    }
  }
  for (std::size_t i = first; i < last; ++i) {
    results::Measurement& row = modes_[i].execution.row;
    if (row.outcome.ok()) {
      sum_up(modes_[i]);
      row.outcome = judge_stability(row.summary);
      modes_[i].execution.layers = profiles[i - first].layers(timing_.floor().at(1));
      modes_[i].execution.in_context = profiles[i - first].in_context(timing_.floor().at(1));
    }
    check_loss(modes_[i]);
    look_at(modes_[i]);
    add_memory_readings(modes_[i].ready, row);
    if (sampler_ && sampler_->complete(modes_[i].ready, modes_[i].samples)) {
      row.attributes[results::kSampledRow] = sampler_->text();
    }
    modes_[i].ready = {};
  }
  sampler_.reset();
}

std::map<std::string, worker::Profile> ModelBenchmark::take_samples() {
  std::map<std::string, worker::Profile> taken;
  if (request_.sampled) {
    const std::vector<std::string> files = collect_code_files(request_.sampled->folder);
    for (std::size_t i = 0; i < modes_.size(); ++i) {
      if (!modes_[i].samples.blocks.empty()) {
        taken[to_text(request_.modes[i].mode)] = {std::move(modes_[i].samples), files};
      }
    }
  }
  return taken;
}

void ModelBenchmark::check_loss(Mode& mode) const {
  results::Measurement& row = mode.execution.row;
  if (request_.training.empty() || !row.outcome.timed()) {
    return;
  }
  const model::Tensor loss = mode.ready.prepared.program->outputs(0).at(0);
  if (first_not_finite(loss.type.dtype, loss.data)) {
    row.outcome = {
        results::Outcome::Kind::kWrongResult,
        fmt::format("after the steps that were timed the loss is {}: the rate of '{}' is "
                    "too high for these weights",
                    number_at(loss, 0),
                    request_.training)};
  }
}

void ModelBenchmark::look_at(Mode& mode) {
  results::Measurement& row = mode.execution.row;
  if (!row.outcome.timed()) {
    return;
  }
  worker::Program::Observation seen;
  results::Measurement look;  // a failed observation does not change the row
  guarded(look, [&] {
    seen = mode.ready.prepared.program->collect_counters(0, request_.sampling.budget);
  });
  row.attributes.merge(seen.attributes);
  results::add_readings(row.readings, seen.readings);
}

void ModelBenchmark::run(const std::function<void(results::Execution)>& emit,
                         const worker::ExecuteReport& report,
                         const worker::AwaitTurn& await_turn) {
  for (std::size_t i = 0; i < modes_.size(); ++i) {
    results::Execution& execution = modes_[i].execution;
    execution.mode = to_text(request_.modes[i].mode);
    execution.row.key.text = "model:" + request_.name;
    execution.row.variant = execution.mode;
    execution.row.library_choice =
        request_.modes[i].mode == results::ExecutionMode{.fusion = backend_.plans_models()};
    execution.row.started = current_time();
  }
  fmt::print(stderr, "executing {} (seed {})\n", request_.name, request_.seed);
  if (request_.sampled) {
    backend_.dump_generated_code(request_.sampled->folder);
  }
  std::optional<RequestedModel> model;
  const auto for_all = [&](const std::function<void()>& step) {
    results::Measurement trial;
    guarded(trial, step);
    for (Mode& mode : modes_) {
      if (mode.execution.row.outcome.ok()) {
        mode.execution.row.outcome = trial.outcome;
      }
    }
    return trial.outcome.ok();
  };
  began_ = timing_.clock()();
  if (for_all([&] { model.emplace(request_); })) {
    for (std::size_t i = 0; i < modes_.size(); ++i) {
      guard(modes_[i], [&] { prepare(*model, i); });
      report_part(report);
    }
    const bool any = std::any_of(modes_.begin(), modes_.end(), [](const Mode& mode) {
      return mode.execution.row.outcome.ok();
    });
    std::size_t together = 1;
    if (any && for_all([&] {
          model->fill();
          report_part(report);
          together = fit_together() ? modes_.size() : 1;
        })) {
      for (std::size_t first = 0; first < modes_.size(); first += together) {
        const std::size_t last = std::min(first + together, modes_.size());
        for (std::size_t i = first; i < last; ++i) {
          guard(modes_[i], [&] { finish(*model, i, report); });
        }
        if (last == modes_.size()) {  // nothing is verified any more
          model.reset();
          reference_.clear();
          expected_.clear();
        }
        time(first, last, report, await_turn);
      }
    }
  }
  for (Mode& mode : modes_) {
    mode.execution.row.wall = mode.wall;
    add_needed_memory(mode.execution.row.outcome, mode.execution.memory, mode.verification);
    emit(std::move(mode.execution));
  }
}

}  // namespace plumb::engine
