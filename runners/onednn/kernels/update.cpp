// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "harness/model/key/training_layers.hpp"
#include "runners/onednn/exec/machine.hpp"
#include "runners/onednn/exec/variant_builder.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"

namespace plumb::onednn {
namespace {

/// Numbers of an `sgd`.
struct Descent {
  float decay;
  float momentum;
  float rate;
};

void descend(const Descent& by, std::size_t count, float* weights, const float* gradient) {
  for (std::size_t i = 0; i < count; ++i) {
    weights[i] -= by.rate * (gradient[i] + by.decay * weights[i]);
  }
}

void descend(const Descent& by,
             std::size_t count,
             float* __restrict weights,
             const float* __restrict gradient,
             float* __restrict velocity) {
  for (std::size_t i = 0; i < count; ++i) {
    velocity[i] = by.momentum * velocity[i] + (gradient[i] + by.decay * weights[i]);
    weights[i] -= by.rate * velocity[i];
  }
}

/// Numbers of an `adam`. Its corrections of the moments change with each step.
struct Adaptation {
  float beta1;
  float rest1;  ///< 1 − β₁, rounded once
  float beta2;
  float rest2;
  float epsilon;
  float decay_of_gradient;
  float keep;        ///< share of the weights that the decay leaves
  float step;        ///< rate ÷ correction of the first moment
  float correction;  ///< √ of that of the second moment
};

void adapt(const Adaptation& by,
           std::size_t count,
           float* __restrict weights,
           const float* __restrict gradient,
           float* __restrict first,
           float* __restrict second) {
  for (std::size_t i = 0; i < count; ++i) {
    const float slope = gradient[i] + by.decay_of_gradient * weights[i];
    first[i] = by.beta1 * first[i] + by.rest1 * slope;
    second[i] = by.beta2 * second[i] + by.rest2 * slope * slope;
    weights[i] = by.keep * weights[i] -
                 by.step * first[i] / (std::sqrt(second[i]) / by.correction + by.epsilon);
  }
}

constexpr std::size_t kBlock = 256;  // elements whose squares a float adds up well enough

/// Writes the direction in which a `lamb` moves the weights of one block.
void find_direction(const Adaptation& by,
                    std::size_t count,
                    const float* __restrict weights,
                    const float* __restrict first,
                    const float* __restrict second,
                    float* __restrict direction) {
  for (std::size_t i = 0; i < count; ++i) {
    direction[i] = by.step * first[i] / (std::sqrt(second[i]) / by.correction + by.epsilon) +
                   by.decay_of_gradient * weights[i];
  }
}

void update_moments(const Adaptation& by,
                    std::size_t count,
                    const float* __restrict gradient,
                    float* __restrict first,
                    float* __restrict second) {
  for (std::size_t i = 0; i < count; ++i) {
    first[i] = by.beta1 * first[i] + by.rest1 * gradient[i];
    second[i] = by.beta2 * second[i] + by.rest2 * gradient[i] * gradient[i];
  }
}

double sum_squares(const float* numbers, std::size_t count) {
  constexpr std::size_t kSums = 16;  // side by side, as wide as a vector
  std::array<float, kSums> sums{};
  std::size_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (std::size_t lane = 0; lane < kSums; ++lane) {
      sums[lane] += numbers[i + lane] * numbers[i + lane];
    }
  }
  double total = 0.0;
  for (; i < count; ++i) {
    total += static_cast<double>(numbers[i]) * numbers[i];
  }
  return std::accumulate(sums.begin(), sums.end(), total);
}

/// Updates a tensor in two passes: the second one needs the norms that the first one adds up. It
/// computes the direction again, which costs less than to keep it.
void adapt_layerwise(const Adaptation& by,
                     float rate,
                     std::size_t count,
                     float* weights,
                     const float* gradient,
                     float* first,
                     float* second) {
  std::array<float, kBlock> direction{};
  double of_weights = 0.0;
  double of_direction = 0.0;
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t block = std::min(kBlock, count - at);
    update_moments(by, block, gradient + at, first + at, second + at);
    find_direction(by, block, weights + at, first + at, second + at, direction.data());
    of_weights += sum_squares(weights + at, block);
    of_direction += sum_squares(direction.data(), block);
  }
  const bool known = of_weights > 0.0 && of_direction > 0.0;
  const float step =
      rate * (known ? static_cast<float>(std::sqrt(of_weights / of_direction)) : 1.0F);
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t block = std::min(kBlock, count - at);
    find_direction(by, block, weights + at, first + at, second + at, direction.data());
    for (std::size_t i = 0; i < block; ++i) {
      weights[at + i] -= step * direction[i];
    }
  }
}

float* numbers(std::byte* bytes) {
  return static_cast<float*>(static_cast<void*>(bytes));
}

using Buffers = std::span<std::byte* const>;

/// Part of a tensor that one thread updates.
struct Piece {
  std::size_t tensor;
  std::size_t begin;
  std::size_t count;
};

/// Update of some tensors of a layer by the layer's rule, on the library's threads.
///
/// Large tensors are cut into pieces, except by `lamb`, whose rate depends on a whole tensor. The
/// results do not depend on the number of threads.
class UpdateKernel {
 public:
  /// Updates the tensors from `first` to before `end`.
  UpdateKernel(const model::LayerSpec& spec, std::size_t first, std::size_t end)
      : shape_(spec), spec_(spec), first_(first), end_(end) {
    constexpr std::size_t kPiece = std::size_t{1} << 16;  // 1 MiB of four arrays
    for (std::size_t tensor = first; tensor < end; ++tensor) {
      const auto count =
          static_cast<std::size_t>(element_count(*spec.inputs[shape_.weights(tensor)]));
      const std::size_t piece = spec.op == "lamb" ? std::max<std::size_t>(1, count) : kPiece;
      for (std::size_t begin = 0; begin < count; begin += piece) {
        pieces_.push_back({tensor, begin, std::min(piece, count - begin)});
      }
    }
  }

  void operator()(Buffers buffers) const {
    if (shape_.condition() && *numbers(buffers[*shape_.condition()]) == 0.0F) {
      return;
    }
    if (spec_.op == "sgd") {
      run_parallel(pieces_.size(), [&](std::size_t i) { descend_piece(buffers, pieces_[i]); });
      return;
    }
    std::vector<Adaptation> by;
    for (std::size_t tensor = first_; tensor < end_; ++tensor) {
      by.push_back(next_step(buffers, tensor));
    }
    run_parallel(pieces_.size(), [&](std::size_t i) {
      adapt_piece(by[pieces_[i].tensor - first_], buffers, pieces_[i]);
    });
  }

 private:
  void descend_piece(Buffers buffers, const Piece& piece) const {
    const Descent by{static_cast<float>(spec_.real("decay")),
                     static_cast<float>(spec_.real("momentum")),
                     static_cast<float>(spec_.real("rate"))};
    float* const weights = numbers(buffers[shape_.weights(piece.tensor)]) + piece.begin;
    const float* const gradient = numbers(buffers[shape_.gradient(piece.tensor)]) + piece.begin;
    if (shape_.states() == 0) {
      descend(by, piece.count, weights, gradient);
    } else {
      float* const velocity = numbers(buffers[shape_.state(piece.tensor, 0)]) + piece.begin;
      descend(by, piece.count, weights, gradient, velocity);
    }
  }

  /// Counts the step of a tensor, and returns the numbers for it.
  Adaptation next_step(Buffers buffers, std::size_t tensor) const {
    float& steps = *numbers(buffers[shape_.state(tensor, 2)]);
    steps += 1.0F;
    // In double: rounding of β₂ would change 1 − β₂, a thousandth, in its fifth digit.
    const double done = steps;
    const double beta1 = spec_.real("beta1");
    const double beta2 = spec_.real("beta2");
    const double rate = spec_.real("rate");
    const double decay = spec_.real("decay");
    const bool layerwise = spec_.op == "lamb";
    const bool of_weights = !layerwise && spec_.text("decay_of") == "weights";
    return {static_cast<float>(beta1),
            static_cast<float>(1.0 - beta1),
            static_cast<float>(beta2),
            static_cast<float>(1.0 - beta2),
            static_cast<float>(spec_.real("epsilon")),
            static_cast<float>(of_weights ? 0.0 : decay),
            static_cast<float>(of_weights ? 1.0 - rate * decay : 1.0),
            static_cast<float>((layerwise ? 1.0 : rate) / (1.0 - std::pow(beta1, done))),
            static_cast<float>(std::sqrt(1.0 - std::pow(beta2, done)))};
  }

  void adapt_piece(const Adaptation& by, Buffers buffers, const Piece& piece) const {
    float* const weights = numbers(buffers[shape_.weights(piece.tensor)]) + piece.begin;
    const float* const gradient = numbers(buffers[shape_.gradient(piece.tensor)]) + piece.begin;
    float* const first = numbers(buffers[shape_.state(piece.tensor, 0)]) + piece.begin;
    float* const second = numbers(buffers[shape_.state(piece.tensor, 1)]) + piece.begin;
    if (spec_.op == "lamb") {
      const auto rate = static_cast<float>(spec_.real("rate"));
      adapt_layerwise(by, rate, piece.count, weights, gradient, first, second);
    } else {
      adapt(by, piece.count, weights, gradient, first, second);
    }
  }

  model::UpdateShape shape_;
  model::LayerSpec spec_;
  std::size_t first_;
  std::size_t end_;
  std::vector<Piece> pieces_;
};

/// Makes a plan with a step for every `tensors` tensors.
ExecutionPlan update_plan(const model::LayerSpec& spec,
                          const std::string& implementation,
                          std::size_t tensors) {
  const model::UpdateShape shape(spec);
  ExecutionPlan plan;
  plan.implementation = implementation;
  for (std::size_t index = 0; index < spec.inputs.size(); ++index) {
    Buffer buffer;
    buffer.operand = index;
    buffer.bytes = static_cast<std::size_t>(model::byte_size(*spec.inputs[index]).value);
    plan.buffers.push_back(std::move(buffer));
  }
  for (std::size_t result = 0; result < spec.outputs.size(); ++result) {
    plan.outputs.push_back(shape.replaced(result));
    plan.buffers[shape.replaced(result)].updated = true;
  }
  for (std::size_t first = 0; first < shape.tensors(); first += tensors) {
    plan.steps.emplace_back(
        KernelStep(UpdateKernel(spec, first, std::min(first + tensors, shape.tensors()))));
  }
  return plan;
}

}  // namespace

void update_weights(const model::LayerSpec& spec,
                    const Device& /*device*/,
                    VariantBuilder::List& list) {
  require(spec.epilogue.empty(), spec, "built-in kernels fuse nothing");
  for (const std::optional<model::TensorType>& input : spec.inputs) {
    require(input && input->dtype == model::DataType::kF32 && !input->constant,
            spec,
            "weights are updated in f32, and none is constant");
  }
  const std::size_t tensors = model::UpdateShape(spec).tensors();
  const auto add = [&](const std::string& implementation, std::size_t of_step) {
    VariantBuilder builder;
    builder.implementation = implementation;
    builder.build = [spec, implementation, of_step] {
      return update_plan(spec, implementation, of_step);
    };
    list.add(std::move(builder));
  };
  add("plumb:" + spec.op, tensors);
  if (tensors > 1) {
    add(fmt::format("plumb:{}_by_tensor", spec.op), 1);
  }
}

}  // namespace plumb::onednn
