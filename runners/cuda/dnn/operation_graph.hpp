// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runners/cuda/dnn/cudnn_abi.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/driver/driver.hpp"

namespace plumb::cuda {

/// Layer as one of cuDNN's operation graphs. The operations are in order. Each works on tensors
/// that are operands or that an earlier operation has made. It computes in f32 unless it says
/// otherwise. The graph is a value and needs no library.
struct TensorGraph {
  /// Tensor of an operation graph, as cuDNN wants it.
  struct Tensor {
    abi::CudnnCalls::Type type = abi::CudnnCalls::Type::kFloat;
    std::vector<std::int64_t> dimensions;  ///< batch, channels, then the spatial axes
    std::vector<std::int64_t> strides;     ///< in elements
    bool is_virtual = false;               ///< never in memory: between fused operations
    std::optional<float> value;            ///< a number that the host gives
    /// Operand of the layer, or a later buffer of the plan that an earlier step makes. Absent: the
    /// tensor is a result, virtual or a number.
    std::optional<std::size_t> operand;
    std::size_t result = 0;  ///< which of the layer's results it is, if it is one

    [[nodiscard]] bool is_result() const { return !is_virtual && !value && !operand; }
  };

  /// Convolution, or the propagation of its gradient to its data or to its weights. Propagation to
  /// the data is a transposed convolution. Tensors are indices into TensorGraph::tensors. The
  /// direction says which of them is the result.
  struct Convolution {
    enum class Direction { kForward, kBackwardData, kBackwardWeights };
    Direction direction = Direction::kForward;
    std::size_t image = 0;  ///< the convolution's data, or their gradient
    std::size_t weights = 0;
    std::size_t grid = 0;  ///< the convolution's result, or its gradient
    std::vector<std::int64_t> strides;
    std::vector<std::int64_t> dilations;
    /// Pads of the convolution's image, also where the image is the result.
    std::vector<std::int64_t> pads_before;
    std::vector<std::int64_t> pads_after;
    abi::CudnnCalls::Type compute = abi::CudnnCalls::Type::kFloat;
  };

  /// Pointwise operation: it computes each element by itself.
  struct Pointwise {
    abi::CudnnCalls::PointwiseMode mode = abi::CudnnCalls::PointwiseMode::kAdd;
    std::size_t input = 0;
    std::optional<std::size_t> operand;    ///< second one, of modes that have two
    std::optional<std::size_t> condition;  ///< of kSelect: where it holds, the input is taken
    std::size_t output = 0;
    abi::CudnnCalls::Type compute = abi::CudnnCalls::Type::kFloat;
    std::optional<std::int64_t> axis;        ///< of kIndex
    std::optional<double> upper_clip;        ///< of kRelu
    std::optional<double> lower_clip_slope;  ///< of kRelu
    std::optional<double> elu_alpha;
  };

  /// Matrix product over the last two axes. Several heads of the left operand share one head of the
  /// right operand.
  struct Matmul {
    std::size_t left = 0;
    std::size_t right = 0;
    std::size_t output = 0;
  };

  /// Reduction along the axes that are 1 in the output. Where the output has fewer heads, each
  /// joins as many consecutive heads of the input.
  struct Reduction {
    abi::CudnnCalls::Reduction reduction = abi::CudnnCalls::Reduction::kAdd;
    std::size_t input = 0;
    std::size_t output = 0;
  };

  /// Pool: the largest number, or the average, of each position of a window.
  struct Resample {
    abi::CudnnCalls::ResampleMode mode = abi::CudnnCalls::ResampleMode::kMax;
    std::size_t input = 0;
    std::size_t output = 0;
    std::vector<std::int64_t> window;
    std::vector<std::int64_t> strides;
    std::vector<std::int64_t> pads_before;
    std::vector<std::int64_t> pads_after;
  };

  /// View of a tensor with other extents and strides.
  struct Reshape {
    std::size_t input = 0;
    std::size_t output = 0;
  };

  /// Normalisation of each row, a layer normalisation: (x − mean) ÷ √(variance + ε) · scale + bias.
  struct Norm {
    abi::CudnnCalls::NormMode mode = abi::CudnnCalls::NormMode::kLayer;
    std::size_t input = 0;
    std::size_t scale = 0;
    std::size_t bias = 0;
    std::size_t epsilon = 0;  ///< a number that the host gives
    std::size_t output = 0;
  };

  /// Gradient of a normalisation with respect to its data, scale and bias. dx takes into account
  /// that mean and variance change with x.
  struct NormGradient {
    abi::CudnnCalls::NormMode mode = abi::CudnnCalls::NormMode::kLayer;
    std::size_t gradient = 0;  ///< of the result
    std::size_t input = 0;     ///< the data
    std::size_t scale = 0;
    std::size_t mean = 0;
    std::size_t inverse_deviation = 0;  ///< 1 ÷ √(variance + ε)
    std::size_t output = 0;             ///< the gradient of the data
    std::size_t scale_gradient = 0;
    std::size_t bias_gradient = 0;
  };

  using Operation = std::
      variant<Convolution, Pointwise, Matmul, Reduction, Resample, Reshape, Norm, NormGradient>;

  std::vector<Tensor> tensors;  ///< a tensor's id is its index plus one
  std::vector<Operation> operations;
};

/// Owner of one of cuDNN's descriptors. The library must outlive it. Every call throws
/// CudnnLibrary::Refusal with cuDNN's message if it is refused.
class Descriptor {
 public:
  using Attribute = abi::CudnnCalls::Attribute;
  using ValueType = abi::CudnnCalls::ValueType;

  Descriptor(const CudnnLibrary& library, abi::CudnnCalls::DescriptorType type);

  [[nodiscard]] abi::Descriptor get() const { return handle_.get(); }

  void set(Attribute name, std::span<const std::int64_t> values);
  void set(Attribute name, std::int64_t value) { set(name, std::span(&value, 1)); }
  void set(Attribute name, float value);
  void set(Attribute name, double value);
  void set_flag(Attribute name, bool value);
  /// Sets an enumerator, which cuDNN takes with a type of its own.
  void set_enumerator(Attribute name, ValueType type, int value);
  void set_handle(Attribute name, abi::DnnHandle handle);
  void set_pointers(Attribute name, std::span<void* const> addresses);
  void set_text(Attribute name, std::string_view text);
  void set(Attribute name, const Descriptor& value);
  void set(Attribute name, std::span<const Descriptor> values);
  /// Finalizes the descriptor, which makes cuDNN check it. `what` names it in a refusal.
  void finish(const char* what);

  /// Reads one number of 64 bits.
  [[nodiscard]] std::int64_t integer(Attribute name) const;
  /// Reads one number of 32 bits. Absent: cuDNN has none.
  [[nodiscard]] std::optional<std::int64_t> small_integer(Attribute name) const;
  /// Reads one enumerator of a type of its own.
  [[nodiscard]] int enumerator(Attribute name, ValueType type) const;
  /// Reads enumerators of a type of their own.
  [[nodiscard]] std::vector<int> enumerators(Attribute name, ValueType type) const;
  [[nodiscard]] std::string text(Attribute name) const;
  /// Reads descriptors of a type that cuDNN fills in. `most` bounds them where cuDNN does not say
  /// how many there are. For knob choices it reports none, but gives them all the same.
  [[nodiscard]] std::vector<Descriptor> descriptors(
      Attribute name,
      abi::CudnnCalls::DescriptorType type,
      std::optional<std::int64_t> most = std::nullopt) const;

 private:
  void set_raw(Attribute name, ValueType type, std::size_t count, const void* values);
  [[nodiscard]] std::int64_t count(Attribute name, ValueType type) const;

  const CudnnLibrary* library_;
  DynamicLibrary::Owned handle_;
};

/// Graph in cuDNN's own form, with the descriptors of which it is made. They must live as long as
/// the graph.
struct OperationGraph {
  std::vector<Descriptor> parts;
  Descriptor graph;
};

/// Makes cuDNN's own form of a graph. A graph that is to be executed needs its device's `handle`.
/// Throws CudnnLibrary::Refusal.
[[nodiscard]] OperationGraph operation_graph(const CudnnLibrary& library,
                                             const TensorGraph& graph,
                                             abi::DnnHandle handle = nullptr);

}  // namespace plumb::cuda
