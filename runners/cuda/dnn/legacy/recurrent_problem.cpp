// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/legacy/recurrent_problem.hpp"

#include <fmt/format.h>

#include <utility>

#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {
namespace {

constexpr std::size_t kInputWeights = 1;
constexpr std::size_t kStateWeights = 2;
constexpr std::size_t kBias = 3;
constexpr std::size_t kFirstState = 4;
constexpr std::size_t kFirstCell = 5;
constexpr std::size_t kPeepholes = 6;

/// Returns which of ONNX's gates each of cuDNN's is.
std::vector<std::int64_t> gate_order(const model::LayerSpec& spec) {
  if (spec.op == "lstm") {
    return {0, 2, 3, 1};
  }
  return spec.op == "gru" ? std::vector<std::int64_t>{1, 0, 2} : std::vector<std::int64_t>{0};
}

abi::LegacyCalls::Recurrent::Cell cell_of(const model::LayerSpec& spec) {
  if (spec.op == "lstm") {
    if (spec.has_input(kPeepholes)) {
      throw Unsupported("cuDNN's LSTM has no peepholes");
    }
    return abi::LegacyCalls::Recurrent::Cell::kLstm;
  }
  if (spec.op == "gru") {
    if (spec.integer("linear_before_reset") == 0) {
      throw Unsupported("cuDNN's GRU resets behind the product with the state, not before it");
    }
    return abi::LegacyCalls::Recurrent::Cell::kGru;
  }
  const std::string& fn = spec.text("fn");
  if (fn != "relu" && fn != "tanh") {
    throw Unsupported(fmt::format("cuDNN has no recurrent layer of {}", fn));
  }
  return fn == "relu" ? abi::LegacyCalls::Recurrent::Cell::kRelu
                      : abi::LegacyCalls::Recurrent::Cell::kTanh;
}

abi::LegacyCalls::Math math_of(const model::LayerSpec& spec, model::DataType type) {
  if (type != model::DataType::kF32) {
    return abi::LegacyCalls::Math::kTensorCores;
  }
  const bool strict = spec.math == model::LayerSpec::MathClass::kStrict ||
                      spec.math == model::LayerSpec::MathClass::kDeterministic;
  return strict ? abi::LegacyCalls::Math::kFma : abi::LegacyCalls::Math::kDefault;
}

/// Writer of a problem, tensor by tensor.
class Writer {
 public:
  explicit Writer(const model::LayerSpec& spec) : spec_(spec), type_(checked_type(spec)) {
    problem_.cell = cell_of(spec);
    problem_.type = cudnn_type(type_);
    problem_.math = math_of(spec, type_);
    problem_.bias = spec.has_input(kBias) ? abi::LegacyCalls::Recurrent::Bias::kDouble
                                          : abi::LegacyCalls::Recurrent::Bias::kNone;
    problem_.batch_first = spec.integer("layout") != 0;
    problem_.shape = model::recurrent_shape(spec);
    reverse_ = spec.text("direction") == "reverse";
  }

  RecurrentProblem run() {
    const model::RecurrentShape& s = problem_.shape;
    if (s.steps == 0 || s.batch == 0 || s.hidden == 0 || s.input == 0) {
      throw Unsupported("a sequence without steps, entries, inputs or states");
    }
    problem_.x = reverse_ ? reversed_input() : 0;
    problem_.h0 = first_state(kFirstState);
    problem_.c0 = first_state(kFirstCell);
    const std::string& letters = spec_.text("outputs");
    bool has_sequence = false;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const std::size_t result = spec_.inputs.size() + i;
      if (letters[i] == 'y') {
        problem_.y = sequence(result);
        has_sequence = true;
      } else {
        (letters[i] == 'h' ? problem_.h : problem_.c) = last_state(result);
      }
    }
    if (!has_sequence) {
      problem_.y = make({type_, {s.steps, s.batch, s.directions, s.hidden}, false, {}});
    }
    problem_.lengths = make({model::DataType::kS32, {s.batch}, false, {}}, true);
    kernels::MapShape shape{};
    shape.space = plain_space({s.batch}, {{1}});
    shape.parameters[0] = static_cast<double>(s.steps);
    problem_.once.push_back(
        element_launch("fill<double, int>", "MapShape", shape, s.batch, {problem_.lengths}));
    return std::move(problem_);
  }

 private:
  static model::DataType checked_type(const model::LayerSpec& spec) {
    const model::DataType type = spec.inputs.at(0).value().dtype;
    for (const auto& operand : spec.inputs) {
      if (operand && (operand->dtype != type || !operand->strides.empty())) {
        throw Unsupported("operands of different types, or not dense");
      }
    }
    return type;
  }

  std::size_t make(model::TensorType type, bool weight = false) {
    problem_.made.push_back({std::move(type), TensorLayout::kChannelsFirst, weight});
    return spec_.inputs.size() + spec_.outputs.size() + problem_.made.size() - 1;
  }

  [[nodiscard]] std::int64_t steps() const { return problem_.shape.steps; }

  /// Reverses a sequence in time. It lies as [time, batch, row], or batch first.
  [[nodiscard]] KernelLaunch turned(std::int64_t row, std::size_t to, std::size_t from) const {
    const std::int64_t batch = problem_.shape.batch;
    const Dimensions strides =
        problem_.batch_first ? Dimensions{row, steps() * row, 1} : Dimensions{batch * row, row, 1};
    const Dimensions back{-strides[0], strides[1], 1};
    return move_launch(
        type_, {steps(), batch, row}, {strides, 0, to}, {back, (steps() - 1) * strides[0], from});
  }

  std::size_t reversed_input() {
    model::TensorType type = *spec_.inputs[0];
    type.constant = false;
    const std::size_t made = make(std::move(type));
    problem_.before.push_back(turned(problem_.shape.input, made, 0));
    return made;
  }

  /// Transposes [batch, directions, hidden] into [directions, batch, hidden], or back.
  [[nodiscard]] KernelLaunch swapped(std::size_t to, std::size_t from, bool back) const {
    const model::RecurrentShape& s = problem_.shape;
    const Dimensions ours{s.directions * s.hidden, s.hidden, 1};
    const Dimensions cudnns{s.hidden, s.batch * s.hidden, 1};
    return move_launch(type_,
                       {s.batch, s.directions, s.hidden},
                       {back ? ours : cudnns, 0, to},
                       {back ? cudnns : ours, 0, from});
  }

  [[nodiscard]] bool swaps_states() const {
    return problem_.batch_first && problem_.shape.directions > 1;
  }

  std::optional<std::size_t> first_state(std::size_t index) {
    if (!spec_.has_input(index)) {
      return std::nullopt;
    }
    if (!swaps_states()) {
      return index;
    }
    const std::size_t made = make_state();
    problem_.before.push_back(swapped(made, index, false));
    return made;
  }

  std::size_t make_state() {
    const model::RecurrentShape& s = problem_.shape;
    return make({type_, {s.directions, s.batch, s.hidden}, false, {}});
  }

  std::size_t last_state(std::size_t result) {
    if (!swaps_states()) {
      return result;
    }
    const std::size_t made = make_state();
    problem_.behind.push_back(swapped(result, made, true));
    return made;
  }

  /// Returns the buffer of the sequence that cuDNN writes. cuDNN leaves both directions of a step
  /// side by side, so a launch after it may have to move them.
  std::size_t sequence(std::size_t result) {
    const model::RecurrentShape& s = problem_.shape;
    const bool apart = !problem_.batch_first && s.directions > 1;
    if (!apart && !reverse_) {
      return result;
    }
    const std::size_t made = make({type_, {s.steps, s.batch, s.directions, s.hidden}, false, {}});
    if (reverse_) {
      problem_.behind.push_back(turned(s.hidden, result, made));
      return made;
    }
    const std::int64_t row = s.directions * s.hidden;
    problem_.behind.push_back(move_launch(
        type_,
        {s.steps, s.directions, s.batch, s.hidden},
        {compute_strides({s.steps, s.directions, s.batch, s.hidden}, TensorLayout::kChannelsFirst),
         0,
         result},
        {{s.batch * row, s.hidden, row, 1}, 0, made}));
    return made;
  }

  const model::LayerSpec& spec_;
  model::DataType type_;
  bool reverse_ = false;
  RecurrentProblem problem_;
};

}  // namespace

RecurrentProblem recurrent_problem(const model::LayerSpec& spec) {
  return Writer(spec).run();
}

std::vector<KernelLaunch> weight_copies(const model::LayerSpec& spec,
                                        const RecurrentProblem& problem,
                                        const WeightPlaces& places,
                                        std::size_t space) {
  const model::RecurrentShape& s = problem.shape;
  const model::DataType type = spec.inputs.at(0).value().dtype;
  const std::vector<std::int64_t> order = gate_order(spec);
  std::vector<KernelLaunch> launches;
  const auto copy =
      [&](std::int64_t count, std::int64_t to, std::size_t operand, std::int64_t from) {
        launches.push_back(move_launch(type, {count}, {{1}, to, space}, {{1}, from, operand}));
      };
  for (std::int64_t direction = 0; direction < s.directions; ++direction) {
    for (std::int64_t piece = 0; piece < 2 * s.gates; ++piece) {
      const bool of_state = piece >= s.gates;
      const std::int64_t gate = order.at(static_cast<std::size_t>(piece % s.gates));
      const std::int64_t columns = of_state ? s.hidden : s.input;
      const RecurrentProblem::WeightPlace place = places(direction, piece);
      copy(s.hidden * columns,
           place.matrix,
           of_state ? kStateWeights : kInputWeights,
           (direction * s.gates + gate) * s.hidden * columns);
      if (spec.has_input(kBias)) {
        const std::int64_t row = (direction * 2 + (of_state ? 1 : 0)) * s.gates + gate;
        copy(s.hidden, place.bias, kBias, row * s.hidden);
      }
    }
  }
  return launches;
}

ExecutionPlan recurrent_plan(
    const model::LayerSpec& spec,
    const RecurrentProblem& problem,
    const WeightPlaces& places,
    std::size_t bytes,
    std::function<DeviceLaunch(std::span<const abi::DevicePointer>, abi::DevicePointer)> bind,
    const KernelStep& kernel) {
  constexpr TensorLayout kLayout = TensorLayout::kChannelsFirst;
  ExecutionPlan plan = begin_plan(spec,
                                  std::vector<TensorLayout>(spec.inputs.size(), kLayout),
                                  std::vector<TensorLayout>(spec.outputs.size(), kLayout));
  for (const ExecutionPlan::Scratch& made : problem.made) {
    add_scratch(plan, made);
  }
  const bool constant = spec.inputs.at(kInputWeights).value().constant &&
                        spec.inputs.at(kStateWeights).value().constant &&
                        (!spec.has_input(kBias) || spec.inputs[kBias]->constant);
  const std::size_t space = add_scratch(
      plan,
      {{model::DataType::kU8, {static_cast<std::int64_t>(bytes)}, false, {}}, kLayout, constant});
  append_launches(plan.once, problem.once, plan, kernel);
  append_launches(
      constant ? plan.once : plan.steps, weight_copies(spec, problem, places, space), plan, kernel);
  append_launches(plan.steps, problem.before, plan, kernel);
  DeviceStep step;
  step.buffers = {{problem.x, space, problem.lengths}, {problem.y}};
  for (const auto& state : {problem.h0, problem.c0}) {
    if (state) {
      step.buffers.reads.push_back(*state);
    }
  }
  for (const auto& state : {problem.h, problem.c}) {
    if (state) {
      step.buffers.writes.push_back(*state);
    }
  }
  step.bind = std::move(bind);
  plan.steps.push_back(std::move(step));
  append_launches(plan.steps, problem.behind, plan, kernel);
  return plan;
}

}  // namespace plumb::cuda
