// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/model_alternation.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "runners/engine/exec/output_difference.hpp"
#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/exec/requested_model.hpp"

namespace plumb::engine {
namespace {

void check(const results::Outcome& outcome) {
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
                   const worker::AlternateRequest& request)
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
      check(prepare_mode(backend_, *models_.front(), mode()).outcome);
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
        check(models_[shape]->operands(plans[shape].fused, one_.operands, operands));
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
    check(ready.outcome);
    std::vector<model::Tensor> operands;
    check(models_[shape]->operands(ready.plan.fused, ready.prepared.operands, operands));
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
    check(alone.outcome);
    make_ready(*models_[shape], clock_, alone);
    check(alone.outcome);
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
  const worker::AlternateRequest& request_;
  std::vector<std::unique_ptr<RequestedModel>> models_;  // by shape
  worker::PreparedModel one_;                            // of all shapes, or empty
  std::vector<ReadyModel> own_;                          // by shape
};

}  // namespace

worker::Alternation alternate_shapes(
    worker::Backend& backend,
    const measure::Clock& clock,
    const worker::AlternateRequest& request,
    const std::function<void(const std::function<void()>& work)>& watch) {
  if (request.shapes.empty()) {
    throw Error(Error::Kind::kUser, "there is no shape to execute");
  }
  return ModelAlternation(backend, clock, request).run(watch);
}

}  // namespace plumb::engine
