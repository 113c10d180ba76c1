// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/dnn/legacy_abi.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// One of cuDNN's older calls on the buffers of a plan. A value that needs no library.
struct LegacyCall {
  /// Tensor as cuDNN's older calls describe it: at least four axes. Axes that the layer's tensor
  /// lacks have extent 1. They come last, but for three axes the missing one comes before the last.
  struct Tensor {
    abi::CudnnCalls::Type type = abi::CudnnCalls::Type::kFloat;
    std::vector<int> dimensions;
    std::vector<int> strides;
    std::size_t buffer = 0;  ///< of the plan: the layer's operands, its results, what is made
  };

  struct Activation {
    abi::LegacyCalls::ActivationMode mode = abi::LegacyCalls::ActivationMode::kIdentity;
    double coefficient = 0.0;  ///< the ceiling of a clipped relu, alpha of elu
  };

  /// Convolution alone or, where `bias` is set, the fused call with bias, addition and activation.
  struct Convolution {
    Tensor x;
    Tensor w;
    Tensor y;
    abi::LegacyCalls::Format format = abi::LegacyCalls::Format::kChannelsFirst;
    std::vector<int> pads;
    std::vector<int> strides;
    std::vector<int> dilations;
    int groups = 1;
    abi::LegacyCalls::Math math = abi::LegacyCalls::Math::kFma;
    std::optional<Tensor> bias;  ///< set: the fused call
    std::optional<Tensor> addend;
    Activation activation;
  };

  struct Pool {
    Tensor x;
    Tensor y;
    abi::LegacyCalls::PoolMode mode = abi::LegacyCalls::PoolMode::kMax;
    std::vector<int> window;
    std::vector<int> pads;
    std::vector<int> strides;
  };

  /// Softmax over axis 1.
  struct Softmax {
    Tensor x;
    Tensor y;
    abi::LegacyCalls::SoftmaxAlgorithm algorithm = abi::LegacyCalls::SoftmaxAlgorithm::kAccurate;
  };

  /// Local response normalisation over channels.
  struct Response {
    Tensor x;
    Tensor y;
    unsigned size = 1;
    double alpha = 0.0;
    double beta = 0.0;
    double bias = 1.0;
  };

  struct BatchNorm {
    Tensor x;
    Tensor y;
    Tensor parameters;  ///< of scale, bias, mean and variance, in buffers 1 to 4
    double epsilon = 0.0;
  };

  struct Function {
    Tensor x;
    Tensor y;
    Activation activation;
  };

  /// Operation on two operands, with the second broadcast.
  struct Binary {
    Tensor a;
    Tensor b;
    Tensor y;
    abi::LegacyCalls::Operation operation = abi::LegacyCalls::Operation::kAdd;
  };

  /// Gradient of a convolution by its data or by its weights. In `of`, the gradient takes the place
  /// of the data or the weights.
  struct ConvolutionGradient {
    Convolution of;                       ///< its y is the gradient that comes in
    bool by_weights = false;              ///< else by the data
    std::optional<Tensor> bias_gradient;  ///< set: by another call, before that of the gradient
  };

  struct PoolGradient {
    Pool of;  ///< its y is made by the pool itself before; averages read neither x nor y
    bool makes_y = false;
    Tensor dy;
    Tensor dx;
  };

  struct SoftmaxGradient {
    Tensor y;
    Tensor dy;
    Tensor dx;
    abi::LegacyCalls::SoftmaxAlgorithm algorithm = abi::LegacyCalls::SoftmaxAlgorithm::kAccurate;
  };

  struct FunctionGradient {
    Function of;  ///< y: made by the function itself before, or x where that serves
    bool makes_y = false;
    Tensor dy;
    Tensor dx;
  };

  using Any = std::variant<Convolution,
                           Pool,
                           Softmax,
                           Response,
                           BatchNorm,
                           Function,
                           Binary,
                           ConvolutionGradient,
                           PoolGradient,
                           SoftmaxGradient,
                           FunctionGradient>;
};

/// Layer as one of cuDNN's older calls, with built-in kernels after it. A value that needs no
/// library.
struct LegacyProblem {
  std::string text;  ///< of the variant: "layout=NCHW"
  TensorLayout layout = TensorLayout::kChannelsFirst;
  LegacyCall::Any call;
  std::vector<BuiltinLayer::Step> behind{};
  std::vector<model::TensorType> made{};  ///< of the plan's buffers after the layer's, between
                                          ///< calls
};

/// Returns a dense tensor in a layout. One spatial axis becomes two, the first of extent 1. A
/// tensor without spatial axes gets some. Throws Unsupported for types and extents that cuDNN's
/// older calls do not have.
[[nodiscard]] LegacyCall::Tensor legacy_tensor(model::DataType type,
                                               Dimensions extents,
                                               TensorLayout layout,
                                               std::size_t buffer);

/// Returns a layer's operand, or its first result, as legacy_tensor() does. Also throws Unsupported
/// for an operand that is missing or not dense, and for a result of another type than the first
/// operand.
[[nodiscard]] LegacyCall::Tensor legacy_input(const model::LayerSpec& spec,
                                              std::size_t index,
                                              TensorLayout layout);
[[nodiscard]] LegacyCall::Tensor legacy_result(const model::LayerSpec& spec, TensorLayout layout);

/// Returns cuDNN's activation for a function of layer keys. Absent: it has none.
[[nodiscard]] std::optional<LegacyCall::Activation> legacy_activation(
    const std::string& fn, const std::vector<double>& parameters);

/// Translates a `conv` for cuDNN's older calls, in both layouts. The fused call is used where it
/// does all of the layer. Where it does not, or has one algorithm only, there is a form with
/// built-in kernels after the plain call. Throws Unsupported.
[[nodiscard]] std::vector<LegacyProblem> legacy_convolutions(const model::LayerSpec& spec);

/// Returns a `conv` in a layout, without bias and fused steps. Buffers are numbered as those of the
/// layer. Throws Unsupported.
[[nodiscard]] LegacyCall::Convolution legacy_convolution(const model::LayerSpec& spec,
                                                         TensorLayout layout);

/// Translates a pool, or a softmax, for cuDNN's older calls. Throws Unsupported.
[[nodiscard]] std::vector<LegacyProblem> legacy_pools(const model::LayerSpec& spec);
[[nodiscard]] std::vector<LegacyProblem> legacy_softmaxes(const model::LayerSpec& spec);

/// Translates a layer into the forms that cuDNN's older calls take. Throws Unsupported with the
/// reason if there is none.
[[nodiscard]] std::vector<LegacyProblem> legacy_problems(const model::LayerSpec& spec);

/// Lists the variants of a layer by cuDNN's older calls, of which each kind of layer has one. They
/// are what Benanza (Li et al. 2020, §III-B) measured, and the gradients. A convolution has every
/// algorithm that cuDNN has for the layer. Empty where there is none. The handle must outlive the
/// builders.
[[nodiscard]] std::vector<VariantBuilder> legacy_variants(const model::LayerSpec& spec,
                                                          CudnnLibrary::Handle& handle,
                                                          const KernelStep& kernel);

}  // namespace plumb::cuda
