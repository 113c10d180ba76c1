// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/dnn/operation_graph.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// Form in which cuDNN executes a layer: its graph, and built-in kernels before and after it.
struct GraphForm {
  std::string text;  ///< of the variant: "layout=NHWC"
  TensorGraph graph;
  std::vector<TensorLayout> inputs;  ///< layout of each of the layer's operands
  TensorLayout result = TensorLayout::kChannelsFirst;
  std::vector<BuiltinLayer::Step> behind{};
  std::vector<model::TensorType> made{};     ///< of the plan's buffers after the layer's, in order
  std::vector<BuiltinLayer::Step> before{};  ///< steps that make them
};

/// Lists cuDNN's engines for one form of a layer. All keep the layer's promise of precision. First
/// stands what heuristic A ranks first, which is what a model gets by default. Empty: there are
/// none. Throws CudnnLibrary::Refusal if cuDNN refuses the graph. The handle must outlive the
/// builders.
[[nodiscard]] std::vector<VariantBuilder> graph_variants(const model::LayerSpec& spec,
                                                         GraphForm form,
                                                         CudnnLibrary::Handle& handle,
                                                         const KernelStep& kernel);

/// Returns the gradient of attention as the one graph by which cuDNN knows it. It computes softmax
/// again from the statistics of each query, then the gradients by values, keys and queries. Two
/// tensors of f32 lie in memory in between, in buffers that the plan makes: dy·y of each query, and
/// the sums of the queries' gradient. Throws Unsupported for types other than f16 and bf16.
[[nodiscard]] GraphForm attention_gradient_form(const model::LayerSpec& spec);

/// Translates an `attention` layer of f16 or bf16 into cuDNN's scaled dot-product attention. cuDNN
/// knows it as these operations: product, scale, cap, mask, softmax by rows, product. Throws
/// Unsupported for what cuDNN cannot do: earlier keys, keys and values as outputs, boolean masks.
[[nodiscard]] TensorGraph attention_graph(const model::LayerSpec& spec);

/// Returns the form in which cuDNN executes an `attention` layer. Throws Unsupported. Needs no
/// library.
[[nodiscard]] GraphForm attention_form(const model::LayerSpec& spec);

/// Lists cuDNN's engines for an `attention` layer as one operation graph. All keep the layer's
/// promise of precision, and heuristic A's first choice stands first. Empty where cuDNN has no form
/// for the layer, or refuses it. Only the built-in kernel remains then.
[[nodiscard]] std::vector<VariantBuilder> attention_variants(const model::LayerSpec& spec,
                                                             CudnnLibrary::Handle& handle);

/// Lists cuDNN's engines for the gradient of attention (attention_gradient_form()) in the same way.
/// Empty also where require_sound_attention_gradient() refuses the layer.
[[nodiscard]] std::vector<VariantBuilder> attention_gradient_offers(const model::LayerSpec& spec,
                                                                    CudnnLibrary::Handle& handle);

/// Throws Unsupported for a layer that this version of cuDNN (91900: 9.19.0) must not execute.
/// Wrong results are known of 9.10.0 and 9.10.1, and up to 9.15 for numbers of keys that 128 does
/// not divide (cudnn-frontend pads those). One query with one key is refused too.
void require_sound_attention_gradient(const model::LayerSpec& spec, std::size_t version);

/// Translates a `conv`, `conv_integer`, `conv_transpose`, or a convolution's gradient by its data
/// or weights. The gradient is the layer's first output. Bias, addition and activation become
/// pointwise operations, each on the result before. An addition stands before the bias, where
/// cuDNN's own fused kernels have it. One spatial axis becomes two, the first of extent 1. Throws
/// Unsupported for what cuDNN cannot do.
[[nodiscard]] TensorGraph convolution_graph(const model::LayerSpec& spec, TensorLayout layout);

/// Translates a `max_pool` or `average_pool`. Previews alone ask about them: to execute a pool,
/// cuDNN's older calls and built-in kernels are used. Throws Unsupported for a pool that gives
/// positions or has dilations or fused steps.
[[nodiscard]] TensorGraph pool_graph(const model::LayerSpec& spec, TensorLayout layout);

/// Lists cuDNN's variants of a `conv`, a `conv_transpose` or a convolution's gradient. They have
/// operands in NCHW and in NHWC, and keep the layer's promise of precision. First stands what
/// heuristic A ranks first for NCHW. Where cuDNN fuses nothing, and for every transposed
/// convolution, there are variants with bias and fused steps by built-in kernels after it. Throws
/// Unsupported with cuDNN's message if there is none.
[[nodiscard]] std::vector<VariantBuilder> convolution_variants(const model::LayerSpec& spec,
                                                               CudnnLibrary::Handle& handle,
                                                               const KernelStep& kernel);

/// Lists cuDNN's variants of a `conv_integer`. cuDNN multiplies s8 with s8 into s32, and built-in
/// kernels do the rest before and after it, NHWC first. Variants with all of it as one graph are
/// listed too, where cuDNN has engines for that. Throws Unsupported.
[[nodiscard]] std::vector<VariantBuilder> integer_convolution_offers(const model::LayerSpec& spec,
                                                                     CudnnLibrary::Handle& handle,
                                                                     const KernelStep& kernel);

/// Lists the forms in which cuDNN executes a convolution: all of it at once, or with what follows
/// it `apart`. Throws Unsupported. Needs no library.
[[nodiscard]] std::vector<GraphForm> convolution_forms(const model::LayerSpec& spec, bool apart);

/// Lists the forms in which cuDNN executes a `layer_norm`, its gradient, or the gradient of a
/// `batch_norm`. The gradient of a `batch_norm` has both layouts. Before a gradient, a built-in
/// kernel makes 1 ÷ √(variance + ε). A `batch_norm` itself has no form: of the ways to execute it,
/// cuDNN's graph has only training. Throws Unsupported. Needs no library.
[[nodiscard]] std::vector<GraphForm> norm_forms(const model::LayerSpec& spec);

/// Lists cuDNN's engines for a layer normalisation, its gradient, or that of a batch normalisation
/// (norm_forms()). Empty where cuDNN has no form for the layer, or no engine. Only built-in kernels
/// remain then. The handle must outlive the builders.
[[nodiscard]] std::vector<VariantBuilder> norm_variants(const model::LayerSpec& spec,
                                                        CudnnLibrary::Handle& handle,
                                                        const KernelStep& kernel);

}  // namespace plumb::cuda
