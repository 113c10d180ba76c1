// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>

#include "harness/model/key/update_layer.hpp"
#include "runners/onednn/exec/layers.hpp"
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

float* numbers(std::byte* bytes) {
  return static_cast<float*>(static_cast<void*>(bytes));
}

using Buffers = std::span<std::byte* const>;

/// Update of one tensor after the other, by the rule of the layer.
class UpdateKernel {
 public:
  explicit UpdateKernel(const model::LayerSpec& spec) : shape_(spec), spec_(spec) {
    for (std::size_t tensor = 0; tensor < shape_.tensors(); ++tensor) {
      counts_.push_back(
          static_cast<std::size_t>(element_count(*spec.inputs[shape_.weights(tensor)])));
    }
  }

  void operator()(Buffers buffers) const {
    for (std::size_t tensor = 0; tensor < shape_.tensors(); ++tensor) {
      spec_.op == "sgd" ? descend_tensor(buffers, tensor) : adapt_tensor(buffers, tensor);
    }
  }

 private:
  void descend_tensor(Buffers buffers, std::size_t tensor) const {
    const Descent by{static_cast<float>(spec_.real("decay")),
                     static_cast<float>(spec_.real("momentum")),
                     static_cast<float>(spec_.real("rate"))};
    float* const weights = numbers(buffers[shape_.weights(tensor)]);
    const float* const gradient = numbers(buffers[shape_.gradient(tensor)]);
    if (shape_.states() == 0) {
      descend(by, counts_[tensor], weights, gradient);
    } else {
      descend(by, counts_[tensor], weights, gradient, numbers(buffers[shape_.state(tensor, 0)]));
    }
  }

  void adapt_tensor(Buffers buffers, std::size_t tensor) const {
    float& steps = *numbers(buffers[shape_.state(tensor, 2)]);
    steps += 1.0F;
    // In double: rounding of β₂ would change 1 − β₂, a thousandth, in its fifth digit.
    const double done = steps;
    const double beta1 = spec_.real("beta1");
    const double beta2 = spec_.real("beta2");
    const double rate = spec_.real("rate");
    const double decay = spec_.real("decay");
    const bool of_weights = spec_.text("decay_of") == "weights";
    const Adaptation by{static_cast<float>(beta1),
                        static_cast<float>(1.0 - beta1),
                        static_cast<float>(beta2),
                        static_cast<float>(1.0 - beta2),
                        static_cast<float>(spec_.real("epsilon")),
                        static_cast<float>(of_weights ? 0.0 : decay),
                        static_cast<float>(of_weights ? 1.0 - rate * decay : 1.0),
                        static_cast<float>(rate / (1.0 - std::pow(beta1, done))),
                        static_cast<float>(std::sqrt(1.0 - std::pow(beta2, done)))};
    adapt(by,
          counts_[tensor],
          numbers(buffers[shape_.weights(tensor)]),
          numbers(buffers[shape_.gradient(tensor)]),
          numbers(buffers[shape_.state(tensor, 0)]),
          numbers(buffers[shape_.state(tensor, 1)]));
  }

  model::UpdateShape shape_;
  model::LayerSpec spec_;
  std::vector<std::size_t> counts_;  // of elements, by tensor
};

ExecutionPlan update_plan(const model::LayerSpec& spec, const std::string& implementation) {
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
  plan.steps.emplace_back(KernelStep(UpdateKernel(spec)));
  return plan;
}

}  // namespace

void update_weights(const model::LayerSpec& spec, const Device& /*device*/, BuilderList& list) {
  require(spec.epilogue.empty(), spec, "built-in kernels fuse nothing");
  for (const std::optional<model::TensorType>& input : spec.inputs) {
    require(input && input->dtype == model::DataType::kF32 && !input->constant,
            spec,
            "weights are updated in f32, and none is constant");
  }
  VariantBuilder builder;
  builder.implementation = "plumb:" + spec.op;
  builder.build = [spec, implementation = builder.implementation] {
    return update_plan(spec, implementation);
  };
  list.add(std::move(builder));
}

}  // namespace plumb::onednn
