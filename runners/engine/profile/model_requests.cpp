// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/model_requests.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/measure/sample_summary.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/exec/requested_model.hpp"
#include "runners/engine/profile/address_sampler.hpp"

namespace plumb::engine {
namespace {

constexpr Seconds kBlock{0.05};  ///< long beside the start of a clock, short beside a disturbance
constexpr int kTrials = 5;       ///< executions that tell how long one takes

void check(const results::Outcome& outcome) {
  if (!outcome.ok()) {
    throw Error(Error::Kind::kUser,
                fmt::format("it cannot be profiled in this way: {}", outcome.reason));
  }
}

/// Program that is executed in blocks.
class BlockRunner {
 public:
  /// Reads the number of steps only to keep the times of a block's steps within their limit.
  BlockRunner(worker::Program& program,
              std::size_t steps,
              worker::StepMark& step,
              const measure::Clock& clock)
      : program_(program), step_(step), clock_(clock) {
    // A disturbed execution tells of a block that is too short for samples, so the shortest counts.
    Seconds once = run(1);
    Seconds spent{};
    for (int i = 0; i < kTrials && (i == 0 || spent < kTrials * kBlock); ++i) {
      const Seconds time = run(1);
      once = std::min(once, time);
      spent += time;
    }
    const std::size_t whole = (worker::StepMark::kMaxStarts - 2) / std::max<std::size_t>(1, steps);
    const auto most = static_cast<double>(whole);
    once_ = once;
    executions_ = once > Seconds(0.0) ? static_cast<std::uint32_t>(std::clamp(
                                            std::ceil(kBlock / once), 1.0, std::max(1.0, most)))
                                      : 1;
  }

  [[nodiscard]] std::uint32_t executions() const { return executions_; }
  /// Returns what a block with samples and one without are expected to take.
  [[nodiscard]] Seconds pair_time() const { return 2.0 * executions_ * once_; }
  [[nodiscard]] Seconds run_block() { return run(executions_); }

 private:
  Seconds run(std::uint32_t executions) {
    const Seconds begin = clock_();
    for (std::uint32_t i = 0; i < executions; ++i) {
      program_.execute_marked(0, step_);
    }
    const Seconds time = clock_() - begin;
    step_.begin(results::kNoStep);
    return time;
  }

  worker::Program& program_;
  worker::StepMark& step_;
  const measure::Clock& clock_;
  Seconds once_{};
  std::uint32_t executions_ = 1;
};

/// Time that a profile may take, from its request on.
class TimeLimit {
 public:
  TimeLimit(std::optional<Seconds> within, const measure::Clock& clock)
      : within_(within), clock_(clock), begin_(clock()) {}

  /// Throws Error{kUser} if there is no time for enough pairs of blocks.
  void check(Seconds pair) const {
    if (within_ && left() < static_cast<double>(worker::kMinProfilePairs) * pair) {
      throw Error(Error::Kind::kUser,
                  fmt::format("{:.2g} s of {:.2g} s are left once it is prepared, and {} "
                              "pairs of blocks take {:.2g} s: allow more time",
                              std::max(0.0, left().count()),
                              within_->count(),
                              worker::kMinProfilePairs,
                              static_cast<double>(worker::kMinProfilePairs) * pair.count()));
    }
  }
  [[nodiscard]] bool has(Seconds time) const { return !within_ || left() >= time; }

 private:
  [[nodiscard]] Seconds left() const { return *within_ - (clock_() - begin_); }

  std::optional<Seconds> within_;
  const measure::Clock& clock_;
  Seconds begin_;
};

void take_samples(BlockRunner& runner,
                  AddressSampler& sampler,
                  Seconds budget,
                  const TimeLimit& limit,
                  results::SampledProfile& profile) {
  limit.check(runner.pair_time());
  Seconds longest = runner.pair_time();
  Seconds spent{};
  while (profile.blocks.empty() || (spent < budget && limit.has(longest) &&
                                    profile.blocks.size() < worker::kMaxProfileBlocks)) {
    results::SampledProfile::Block block{.executions = runner.executions()};
    const auto number = static_cast<std::uint32_t>(profile.blocks.size());
    const bool sampled_first = number % 2 == 0;
    if (!sampled_first) {
      block.unsampled = runner.run_block();
    }
    sampler.start();
    block.sampled = runner.run_block();
    sampler.stop();
    if (sampled_first) {
      block.unsampled = runner.run_block();
    }
    sampler.take(number, profile);
    profile.blocks.push_back(block);
    spent += block.sampled + block.unsampled;
    longest = std::max(longest, block.sampled + block.unsampled);
    if (profile.samples.size() > worker::kMaxProfileSamples) {
      profile.lost += profile.samples.size() - worker::kMaxProfileSamples;
      profile.samples.resize(worker::kMaxProfileSamples);
      break;
    }
  }
  set_rate(profile);
  profile.lost += sampler.lost();
}

/// Samples a program whose slot 0 is ready.
worker::Profile sample_program(worker::Program& program,
                               std::vector<results::SampledProfile::Step> steps,
                               const measure::Clock& clock,
                               const TimeLimit& limit,
                               const worker::Profile::Request& request) {
  worker::Profile profile;
  results::SampledProfile& samples = profile.samples;
  samples.steps = std::move(steps);
  worker::StepMark step;
  BlockRunner runner(program, samples.steps.size(), step, clock);
  SampleSource::Options options;
  options.rate = request.rate;
  options.seed = request.model.seed;
  if (request.clock) {
    options.clocks = {*request.clock};
  }
  options.depth = request.chains ? worker::kMaxCallDepth : 0;
  AddressSampler sampler(options, step);
  samples.asked_rate = request.rate;
  samples.clock = sampler.clock();
  samples.refused = sampler.refused();
  samples.threads = sampler.threads();
  take_samples(runner, sampler, request.budget, limit, samples);
  samples.mappings = read_mapped_code();
  profile.code_files = collect_code_files(request.folder);
  return profile;
}

}  // namespace

worker::Profile sample_model(worker::Backend& backend,
                             const measure::Clock& clock,
                             const worker::Profile::Request& request) {
  const TimeLimit limit(request.within, clock);
  backend.dump_generated_code(request.folder);
  RequestedModel model(request.model);
  ReadyModel ready = prepare_mode(backend, model, request.model.modes.at(0));
  check(ready.outcome);
  model.fill();
  make_ready(model, clock, ready);
  check(ready.outcome);
  return sample_program(*ready.prepared.program, describe_steps(ready), clock, limit, request);
}

worker::Profile sample_layer(worker::Backend& backend,
                             const measure::Clock& clock,
                             std::span<const model::Tensor> operands,
                             const worker::Profile::Request& request) {
  const TimeLimit limit(request.within, clock);
  backend.dump_generated_code(request.folder);
  const model::LayerKey key{request.layer};
  check(backend.supports(key));
  const std::vector<worker::Variant> variants = backend.variants(key);
  PLUMB_CHECK(!variants.empty());
  const auto choice = std::find_if(
      variants.begin(), variants.end(), [](const auto& variant) { return variant.library_choice; });
  const std::string& variant = (choice == variants.end() ? variants.front() : *choice).text;
  const worker::Backend::Prepared prepared = backend.prepare(key, variant);
  check(prepared.outcome);
  worker::Program& program = *prepared.program;
  program.bind(0, operands, false);
  const std::size_t count = program.profile(0).size();
  const results::SampledProfile::Step step{{0}, key.text, variant, false};
  return sample_program(
      program, std::vector<results::SampledProfile::Step>(count, step), clock, limit, request);
}

namespace {

constexpr std::size_t kMostUntraced = 101;
constexpr Seconds kUntracedBudget{1.0};

void check_traceable(const results::Outcome& outcome) {
  if (!outcome.ok()) {
    throw Error(Error::Kind::kUser,
                fmt::format("the model cannot be traced in this mode: {}", outcome.reason));
  }
}

/// Names the layers of each step by their numbers in the model: "3+4".
std::vector<std::string> layers_of_steps(const ReadyModel& ready) {
  std::vector<std::string> texts;
  for (const worker::Backend::PreparedModel::Step& step : ready.prepared.steps) {
    texts.push_back(
        step.layer ? fmt::format("{}", fmt::join(ready.plan.fused.origins.at(*step.layer), "+"))
                   : std::string());
  }
  return texts;
}

Seconds untraced_time(worker::Program& program, const measure::Clock& clock) {
  std::vector<Seconds> samples;
  Seconds spent{};
  while (samples.empty() || (spent < kUntracedBudget && samples.size() < kMostUntraced)) {
    const Seconds begin = clock();
    program.enqueue(0);
    program.synchronize();
    samples.push_back(clock() - begin);
    spent += samples.back();
  }
  return measure::summarize(samples).median;
}

}  // namespace

worker::Trace trace_model(worker::Backend& backend,
                          const measure::Clock& clock,
                          const worker::Trace::Request& request) {
  RequestedModel model(request.model);
  ReadyModel ready = prepare_mode(backend, model, request.model.modes.at(0));
  check_traceable(ready.outcome);
  model.fill();
  make_ready(model, clock, ready);
  check_traceable(ready.outcome);
  std::vector<model::Tensor> operands;
  check_traceable(
      model.operands(ready.plan.fused, ready.prepared.operands, operands, ready.magnitudes));
  worker::Program& program = *ready.prepared.program;
  worker::Trace trace;
  trace.untraced = untraced_time(program, clock);
  trace.files =
      program.trace(0, operands, request.folder, request.executions, layers_of_steps(ready));
  if (trace.files.empty()) {
    throw Error(Error::Kind::kUser,
                "this backend has no profiler of whole models: traces need a stack of the backend "
                "'onednn' or 'onnxruntime'");
  }
  return trace;
}

namespace {

void check_executable(const results::Outcome& outcome) {
  if (!outcome.ok()) {
    throw Error(Error::Kind::kUser,
                fmt::format("the model cannot be executed in this mode: {}", outcome.reason));
  }
}

/// Alternation of one model's shapes on one backend.
class ModelAlternation {
 public:
  ModelAlternation(worker::Backend& backend,
                   const measure::Clock& clock,
                   const worker::Alternation::Request& request)
      : backend_(backend), clock_(clock), request_(request) {
    if (mode().mode.int8) {
      throw Error(Error::Kind::kUser,
                  "a model in 8-bit integers is not alternated: its scales are of one shape");
    }
    for (const worker::ExecuteRequest& shape : request.shapes) {
      models_.push_back(std::make_unique<RequestedModel>(shape));
      models_.back()->fill();
    }
    own_.resize(models_.size());
  }

  worker::Alternation run(const std::function<void(const std::function<void()>&)>& watch) {
    worker::Alternation alternation;
    const Seconds begin = clock_();
    alternation.one_program = make_one_program();
    alternation.preparation = alternation.one_program ? clock_() - begin : Seconds{};
    watch([&] {
      for (const std::uint32_t shape : request_.order) {
        alternation.seconds.push_back(
            one_.program || own_[shape].prepared.program ? execute(shape) : begin_shape(shape));
      }
    });
    for (std::uint32_t shape = 0; shape < models_.size(); ++shape) {
      compare(shape);
    }
    return alternation;
  }

 private:
  [[nodiscard]] const worker::ModeRequest& mode() const {
    return request_.shapes.front().modes.front();
  }

  /// Makes a program of all shapes. Returns false if the backend has none.
  bool make_one_program() {
    if (backend_.plans_models()) {  // such a backend has not all modes
      check_executable(prepare_mode(backend_, *models_.front(), mode()).outcome);
    }
    std::vector<ModeGraph> plans;
    std::vector<const model::Graph*> graphs;
    plans.reserve(models_.size());
    for (const auto& model : models_) {
      plans.push_back(graph_of_mode(model->graph(), mode(), backend_, model->memory_cap()));
      graphs.push_back(&plans.back().fused.graph);
    }
    one_ = backend_.prepare_shapes(graphs,
                                   {.variants = {},
                                    .parallel_branches = mode().mode.parallel_branches,
                                    .launches = worker::find_launch_mode(mode().mode),
                                    .fusion = mode().mode.fusion});
    if (!one_.outcome.ok()) {
      one_ = {};
      return false;
    }
    try {
      for (std::size_t shape = 0; shape < models_.size(); ++shape) {
        std::vector<model::Tensor> operands;
        check_executable(models_[shape]->operands(plans[shape].fused, one_.operands, operands));
        one_.program->bind(shape, operands, false);
      }
    } catch (const Error& refusal) {
      if (refusal.kind() != Error::Kind::kUser) {
        throw;
      }
      one_ = {};  // weights that depend on the shape
    }
    return one_.program != nullptr;
  }

  /// Plans a shape, lays out its weights and executes it. Returns the time of these.
  Seconds begin_shape(std::uint32_t shape) {
    ReadyModel& ready = own_[shape];
    const Seconds begin = clock_();
    ready = prepare_mode(backend_, *models_[shape], mode());
    const Seconds planned = clock_() - begin;
    check_executable(ready.outcome);
    std::vector<model::Tensor> operands;
    check_executable(models_[shape]->operands(ready.plan.fused, ready.prepared.operands, operands));
    const Seconds bound = clock_();
    ready.prepared.program->bind(0, operands, false);
    const Seconds laid_out = clock_() - bound;
    return planned + laid_out + execute(shape);
  }

  Seconds execute(std::uint32_t shape) {
    const Seconds begin = clock_();
    program_of(shape).enqueue(slot_of(shape));
    program_of(shape).synchronize();
    return clock_() - begin;
  }

  /// Executes a shape once more, and by a program of its own.
  void compare(std::uint32_t shape) {
    if (!one_.program && !own_[shape].prepared.program) {
      return;
    }
    static_cast<void>(execute(shape));
    const std::vector<model::Tensor> outputs = program_of(shape).outputs(slot_of(shape));
    ReadyModel alone = prepare_mode(backend_, *models_[shape], mode());
    check_executable(alone.outcome);
    make_ready(*models_[shape], clock_, alone);
    check_executable(alone.outcome);
    const double most =
        tolerated_difference(alone.outputs, request_.shapes[shape].executed_type(mode().mode));
    const double difference = largest_difference(outputs, alone.outputs);
    if (!(difference <= most)) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("{}: an output of shape {} differs by {:.3g} of its largest "
                              "magnitude from that of the shape alone, and {:.3g} is allowed",
                              worker::kWrongAlternation,
                              shape,
                              difference,
                              most));
    }
  }

  [[nodiscard]] worker::Program& program_of(std::uint32_t shape) const {
    return one_.program ? *one_.program : *own_[shape].prepared.program;
  }
  [[nodiscard]] std::size_t slot_of(std::uint32_t shape) const { return one_.program ? shape : 0; }

  worker::Backend& backend_;
  const measure::Clock& clock_;
  const worker::Alternation::Request& request_;
  std::vector<std::unique_ptr<RequestedModel>> models_;  // by shape
  worker::Backend::PreparedModel one_;                   // of all shapes, or empty
  std::vector<ReadyModel> own_;                          // by shape
};

}  // namespace

worker::Alternation alternate_shapes(
    worker::Backend& backend,
    const measure::Clock& clock,
    const worker::Alternation::Request& request,
    const std::function<void(const std::function<void()>& work)>& watch) {
  if (request.shapes.empty()) {
    throw Error(Error::Kind::kUser, "there is no shape to execute");
  }
  return ModelAlternation(backend, clock, request).run(watch);
}

}  // namespace plumb::engine
