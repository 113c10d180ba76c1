// SPDX-License-Identifier: Apache-2.0
// Recurrent layers as cuDNN is asked for them: its documented equations in float64 on the weights
// that our copies leave in its space, what our kernels do around it by those kernels on the host.
#include "runners/cuda/dnn/legacy/recurrent_problem.hpp"

#include <cmath>
#include <cstring>
#include <map>

#include "harness/base/error.hpp"
#include "runners/cuda/dnn/legacy/recurrent_variants.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/model_program.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/bench/verification.hpp"
#include "runners/engine/number_formats.hpp"
#include "tests/contract/layer_cases.hpp"
#include "tests/unit/cuda/host_plan.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace plumb::cuda {
namespace {

using ::testing::HasSubstr;

constexpr const char* kMore[] = {
    "v1:lstm;in=f32[4,3,6],f32[2,32,6]c,f32[2,32,8]c,f32[2,64]c,f32[2,3,8],f32[2,3,8];"
    "out=f32[4,2,3,8],f32[2,3,8],f32[2,3,8];acc=f32;math=strict;direction=bidirectional;layout=0;"
    "outputs=yhc",
    "v1:gru;in=f32[3,4,6],f32[2,24,6]c,f32[2,24,8]c,f32[2,48]c,f32[3,2,8];"
    "out=f32[3,4,2,8],f32[3,2,8];acc=f32;math=strict;direction=bidirectional;layout=1;"
    "linear_before_reset=1;outputs=yh",
    "v1:lstm;in=f16[3,4,6],f16[1,32,6]c,f16[1,32,8]c;out=f16[3,4,1,8],f16[3,1,8];acc=f32;"
    "math=strict;direction=reverse;layout=1;outputs=yc",
    "v1:rnn;in=f32[4,3,6],f32[2,8,6]c,f32[2,8,8]c,f32[2,16]c;out=f32[2,3,8];acc=f32;math=strict;"
    "direction=bidirectional;fn=relu;layout=0;outputs=h",
};

/// Puts the pieces of the weights somewhere, apart and in an order of no meaning.
class Places {
 public:
  explicit Places(const model::RecurrentShape& shape) {
    constexpr std::int64_t kGap = 8;
    for (std::int64_t piece = 2 * shape.gates; piece-- > 0;) {
      for (std::int64_t direction = 0; direction < shape.directions; ++direction) {
        RecurrentProblem::WeightPlace& place = places_[{direction, piece}];
        place.bias = elements_;
        elements_ += shape.hidden + kGap;
        place.matrix = elements_;
        elements_ += shape.hidden * (piece < shape.gates ? shape.input : shape.hidden) + kGap;
      }
    }
  }
  [[nodiscard]] RecurrentProblem::WeightPlace at(std::int64_t direction, std::int64_t piece) const {
    return places_.at({direction, piece});
  }
  [[nodiscard]] std::int64_t elements() const { return elements_; }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, RecurrentProblem::WeightPlace> places_;
  std::int64_t elements_ = 0;
};

/// Reads and writes numbers of one type in the host's memory.
class Numbers {
 public:
  Numbers(model::DataType type, abi::DevicePointer address) : type_(type), address_(address) {}
  [[nodiscard]] double get(std::int64_t at) const {
    model::Tensor one{{type_, {1}, false, {}}, std::vector<std::byte>(size())};
    std::memcpy(one.data.data(), place(at), size());
    return engine::number_at(one, 0);
  }
  void set(std::int64_t at, double number) const {
    const model::Tensor one =
        engine::tensor_from({type_, {1}, false, {}}, std::vector<double>{number});
    std::memcpy(place(at), one.data.data(), size());
  }

 private:
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(model::element_bytes(type_));
  }
  [[nodiscard]] std::byte* place(std::int64_t at) const {
    return reinterpret_cast<std::byte*>(address_) + static_cast<std::size_t>(at) * size();
  }

  model::DataType type_;
  abi::DevicePointer address_;
};

/// Computes what cuDNN's documentation says of cudnnRNNMode_t, one direction of one entry.
class DocumentedCell {
 public:
  DocumentedCell(const RecurrentProblem& problem,
                 const Places& places,
                 model::DataType type,
                 std::span<const abi::DevicePointer> buffers)
      : problem_(problem),
        s_(problem.shape),
        places_(places),
        type_(type),
        buffers_(buffers),
        weights_(type, buffers.back()) {}

  void run(std::int64_t direction, std::int64_t entry) const {
    const std::int64_t state = (direction * s_.batch + entry) * s_.hidden;
    std::vector<double> h = first(problem_.h0, state);
    std::vector<double> c = first(problem_.c0, state);
    for (std::int64_t step = 0; step < s_.steps; ++step) {
      const std::int64_t time = direction == 1 ? s_.steps - 1 - step : step;
      const std::int64_t row =
          problem_.batch_first ? entry * s_.steps + time : time * s_.batch + entry;
      advance(direction, row * s_.input, h, c);
      for (std::int64_t unit = 0; unit < s_.hidden; ++unit) {
        numbers(problem_.y)
            .set((row * s_.directions + direction) * s_.hidden + unit,
                 h[static_cast<std::size_t>(unit)]);
      }
    }
    leave(problem_.h, state, h);
    leave(problem_.c, state, c);
  }

 private:
  [[nodiscard]] Numbers numbers(std::size_t buffer) const { return {type_, buffers_[buffer]}; }

  [[nodiscard]] std::vector<double> first(const std::optional<std::size_t>& buffer,
                                          std::int64_t at) const {
    std::vector<double> state(static_cast<std::size_t>(s_.hidden), 0.0);
    for (std::size_t i = 0; buffer && i < state.size(); ++i) {
      state[i] = numbers(*buffer).get(at + static_cast<std::int64_t>(i));
    }
    return state;
  }

  void leave(const std::optional<std::size_t>& buffer,
             std::int64_t at,
             const std::vector<double>& state) const {
    for (std::size_t i = 0; buffer && i < state.size(); ++i) {
      numbers(*buffer).set(at + static_cast<std::int64_t>(i), state[i]);
    }
  }

  /// Returns W·v + b of one piece.
  [[nodiscard]] double piece(std::int64_t direction,
                             std::int64_t number,
                             std::int64_t unit,
                             const std::vector<double>& v) const {
    const RecurrentProblem::WeightPlace place = places_.at(direction, number);
    const auto depth = static_cast<std::int64_t>(v.size());
    double sum = problem_.bias == abi::LegacyCalls::Recurrent::Bias::kNone
                     ? 0.0
                     : weights_.get(place.bias + unit);
    for (std::int64_t k = 0; k < depth; ++k) {
      sum += weights_.get(place.matrix + unit * depth + k) * v[static_cast<std::size_t>(k)];
    }
    return sum;
  }

  void advance(std::int64_t direction,
               std::int64_t at,
               std::vector<double>& h,
               std::vector<double>& c) const {
    std::vector<double> x;
    for (std::int64_t i = 0; i < s_.input; ++i) {
      x.push_back(numbers(problem_.x).get(at + i));
    }
    const auto sigmoid = [](double value) { return 1.0 / (1.0 + std::exp(-value)); };
    std::vector<double> next(h.size());
    for (std::size_t i = 0; i < h.size(); ++i) {
      const auto unit = static_cast<std::int64_t>(i);
      const auto input = [&](std::int64_t gate) { return piece(direction, gate, unit, x); };
      const auto state = [&](std::int64_t gate) {
        return piece(direction, s_.gates + gate, unit, h);
      };
      const auto sum = [&](std::int64_t gate) { return input(gate) + state(gate); };
      switch (problem_.cell) {
        case abi::LegacyCalls::Recurrent::Cell::kRelu:
          next[i] = std::max(sum(0), 0.0);
          break;
        case abi::LegacyCalls::Recurrent::Cell::kTanh:
          next[i] = std::tanh(sum(0));
          break;
        case abi::LegacyCalls::Recurrent::Cell::kLstm:  // input, forget, new memory, output
          c[i] = sigmoid(sum(1)) * c[i] + sigmoid(sum(0)) * std::tanh(sum(2));
          next[i] = sigmoid(sum(3)) * std::tanh(c[i]);
          break;
        case abi::LegacyCalls::Recurrent::Cell::kGru: {  // reset, update, new memory
          const double update = sigmoid(sum(1));
          const double memory = std::tanh(input(2) + sigmoid(sum(0)) * state(2));
          next[i] = (1.0 - update) * memory + update * h[i];
          break;
        }
      }
    }
    h = next;
  }

  const RecurrentProblem& problem_;
  const model::RecurrentShape& s_;
  const Places& places_;
  model::DataType type_;
  std::span<const abi::DevicePointer> buffers_;
  Numbers weights_;
};

std::vector<model::LayerSpec> recurrent_layers() {
  std::vector<model::LayerSpec> specs;
  for (const contract::LayerCase& each : contract::layer_cases()) {
    const model::LayerSpec spec = model::parse_key({std::string(each.key)});
    if (model::is_recurrent(spec)) {
      specs.push_back(spec);
    }
  }
  for (const char* const key : kMore) {
    specs.push_back(model::parse_key({key}));
  }
  return specs;
}

std::string refusal(const model::LayerSpec& spec) {
  try {
    static_cast<void>(recurrent_problem(spec));
    return "";
  } catch (const Unsupported& reason) {
    return reason.what();
  }
}

TEST(RecurrentProblem, means_what_the_key_says) {
  HostKernels kernels;
  std::vector<std::pair<model::LayerSpec, ExecutionPlan>> layers;
  for (const model::LayerSpec& spec : recurrent_layers()) {
    if (!refusal(spec).empty()) {
      continue;
    }
    const RecurrentProblem problem = recurrent_problem(spec);
    const auto places = std::make_shared<const Places>(problem.shape);
    const model::DataType type = spec.inputs[0]->dtype;
    const auto bind = [problem, places, type](std::span<const abi::DevicePointer> buffers,
                                              abi::DevicePointer) {
      const std::vector<abi::DevicePointer> own(buffers.begin(), buffers.end());
      return DeviceLaunch([problem, places, type, own](abi::Stream) {
        const DocumentedCell cell(problem, *places, type, own);
        const Numbers lengths(model::DataType::kS32, own[problem.lengths]);
        for (std::int64_t entry = 0; entry < problem.shape.batch; ++entry) {
          EXPECT_EQ(lengths.get(entry), static_cast<double>(problem.shape.steps));
          for (std::int64_t direction = 0; direction < problem.shape.directions; ++direction) {
            cell.run(direction, entry);
          }
        }
      });
    };
    layers.emplace_back(
        spec,
        recurrent_plan(
            spec,
            problem,
            [places](std::int64_t direction, std::int64_t piece) {
              return places->at(direction, piece);
            },
            static_cast<std::size_t>(places->elements() * model::element_bytes(type)),
            bind,
            kernels.steps()));
  }
  EXPECT_EQ(layers.size(), 16U);
  kernels.compile();
  for (const auto& [spec, plan] : layers) {
    const std::vector<model::Tensor> operands = engine::random_operands(spec, 5);
    const std::vector<model::Tensor> outputs = run_plan(
        plan, spec.outputs, [&](std::size_t i) -> const model::Tensor& { return operands.at(i); });
    const engine::Verifier::Verdict verdict = engine::verify(spec, operands, outputs);
    EXPECT_TRUE(verdict.outcome.ok()) << model::to_key(spec).text << ": " << verdict.outcome.reason;
  }
}

TEST(RecurrentProblem, constant_weights_are_brought_into_cudnns_space_once) {
  HostKernels kernels;
  for (const bool constant : {true, false}) {
    const std::string mark = constant ? "c" : "";
    const model::LayerSpec spec = model::parse_key(
        {"v1:lstm;in=f32[5,3,6],f32[1,32,6]" + mark + ",f32[1,32,8]" + mark + ",f32[1,64]" + mark +
         ";out=f32[5,1,3,8],f32[1,3,8];acc=f32;math=strict;"
         "direction=forward;layout=0;outputs=yh"});
    const ExecutionPlan plan = recurrent_plan(
        spec,
        recurrent_problem(spec),
        [](std::int64_t, std::int64_t) { return RecurrentProblem::WeightPlace{}; },
        4096,
        {},
        kernels.steps());
    EXPECT_EQ(plan.once.size(), constant ? 17U : 1U) << "lengths, 8 matrices, 8 biases";
    EXPECT_EQ(plan.steps.size(), constant ? 1U : 17U);
    EXPECT_THAT(plan.steps.back().buffers.writes, ::testing::ElementsAreArray(plan.outputs));
    EXPECT_EQ(plan.buffers.back().weight, constant);
  }
}

TEST(RecurrentProblem, who_reads_the_last_state_alone_waits_for_cudnns_call) {
  HostKernels kernels;
  const model::LayerSpec spec = model::parse_key(
      {"v1:lstm;in=f32[5,3,6],f32[1,32,6]c,f32[1,32,8]c;out=f32[5,1,3,8],f32[1,3,8],f32[1,3,8];"
       "acc=f32;math=strict;direction=forward;layout=0;outputs=yhc"});
  const ExecutionPlan plan = recurrent_plan(
      spec,
      recurrent_problem(spec),
      [](std::int64_t, std::int64_t) { return RecurrentProblem::WeightPlace{}; },
      4096,
      {},
      kernels.steps());
  std::vector<engine::PlanBuffer::Uses> steps;
  for (const DeviceStep& step : plan.steps) {
    steps.push_back(step.buffers);
  }
  const std::size_t call = steps.size() - 1;
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {  // a branch of its own for each result
    steps.push_back({{plan.outputs[i]}, {plan.buffers.size() + i}});
  }
  const ModelProgram::StreamPlan streams = plan_streams(steps, 4);
  EXPECT_EQ(streams.streams, 3U);
  EXPECT_THAT(streams.waits[call + 2], ::testing::ElementsAre(call));
  EXPECT_THAT(streams.waits[call + 3], ::testing::ElementsAre(call));
}

TEST(RecurrentProblem, says_what_cudnn_does_not_compute) {
  const auto of = [](const std::string& key) { return refusal(model::parse_key({key})); };
  EXPECT_THAT(of("v1:lstm;in=f32[5,3,6],f32[1,32,6],f32[1,32,8],-,-,-,f32[1,24];out=f32[5,1,3,8];"
                 "acc=f32;math=strict;direction=forward;layout=0;outputs=y"),
              HasSubstr("peepholes"));
  EXPECT_THAT(of("v1:gru;in=f32[5,3,6],f32[1,24,6],f32[1,24,8];out=f32[5,1,3,8];acc=f32;"
                 "math=strict;direction=forward;layout=0;linear_before_reset=0;outputs=y"),
              HasSubstr("resets behind"));
  EXPECT_THAT(of("v1:rnn;in=f32[5,3,6],f32[1,8,6],f32[1,8,8];out=f32[5,1,3,8];acc=f32;math=strict;"
                 "direction=forward;fn=sigmoid;layout=0;outputs=y"),
              HasSubstr("sigmoid"));
  EXPECT_THAT(of("v1:rnn;in=f64[5,3,6],f64[1,8,6],f64[1,8,8];out=f64[5,1,3,8];acc=f64;math=strict;"
                 "direction=forward;fn=tanh;layout=0;outputs=y"),
              HasSubstr("f64"));
}

TEST(RecurrentExecution, has_descriptors_that_cudnn_takes_without_a_device) {
#if defined(__SANITIZE_ADDRESS__)
  const __lsan::ScopedDisabler vendors;
#endif
  try {
    const CudnnLibrary library({std::string(PLUMB_TEST_CUDA_FOLDER) + "/libcudnn.so.9"});
    std::size_t made = 0;
    for (const model::LayerSpec& spec : recurrent_layers()) {
      if (!refusal(spec).empty()) {
        continue;
      }
      for (const auto algorithm : {abi::LegacyCalls::Recurrent::Algorithm::kStandard,
                                   abi::LegacyCalls::Recurrent::Algorithm::kPersistStatic,
                                   abi::LegacyCalls::Recurrent::Algorithm::kPersistDynamic}) {
        try {
          static_cast<void>(RecurrentExecution(library, recurrent_problem(spec), algorithm));
          ++made;
        } catch (const CudnnLibrary::Refusal& words) {
          EXPECT_FALSE(spec.has_input(3)) << model::to_key(spec).text << ": " << words.what();
          EXPECT_NE(algorithm, abi::LegacyCalls::Recurrent::Algorithm::kStandard)
              << model::to_key(spec).text;
        }
      }
    }
    EXPECT_GE(made, 35U) << "the persistent ones only with a bias";
  } catch (const Error& missing) {
    GTEST_SKIP() << missing.what();
  }
}

}  // namespace
}  // namespace plumb::cuda
