// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/onednn/exec/execution_plan.hpp"

namespace plumb::onednn {

/// Device on which layers run.
using Device = dnnl::engine;

/// Builder of one variant of a layer.
struct VariantBuilder {
  /// List of a layer's variants in the library's order.
  class List {
   public:
    /// Adds every implementation of a primitive, beginning with `first`.
    ///
    /// Takes ownership of `first`. If `status` is an error, nothing is added and the error is kept
    /// as the reason. Of equal implementations with equal layouts only the first counts. `finish`
    /// completes the plan of each.
    void add_implementations(dnnl_status_t status,
                             dnnl_primitive_desc_t first,
                             const std::vector<Argument>& arguments,
                             const std::string& details,
                             const std::function<void(ExecutionPlan&)>& finish = {});
    /// Adds one variant made of a built-in kernel or of several steps.
    void add(VariantBuilder builder);

    /// Removes the implementations whose names begin with `prefix`, and keeps the reason.
    void take_back(std::string_view prefix, std::string reason);

    [[nodiscard]] const std::vector<VariantBuilder>& builders() const { return builders_; }
    /// Moves the variants out of the list.
    [[nodiscard]] std::vector<VariantBuilder> take() { return std::move(builders_); }
    [[nodiscard]] bool empty() const { return builders_.empty(); }
    /// Returns whether the list has nothing but the library's slow reference code, or is empty.
    [[nodiscard]] bool only_references() const;
    /// Returns the reason of the library's last refusal.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }

   private:
    std::vector<VariantBuilder> builders_;
    std::string refusal_;
  };

  std::string implementation;               ///< the library's name, or "plumb:…"
  std::string details;                      ///< "layout=any;algorithm=direct": what identifies it
  std::size_t number = 1;                   ///< counts variants that otherwise have the same name
  std::vector<Argument> arguments;          ///< of the library's primitives
  std::vector<dnnl::memory::desc> layouts;  ///< layout that it wants of each argument; one to one
  std::function<ExecutionPlan()> build;

  [[nodiscard]] std::string text() const;   ///< "impl=NAME;DETAILS"
  [[nodiscard]] bool is_reference() const;  ///< whether it is the library's slow reference code
  /// Returns whether the variant takes and leaves images, all of them with their channels last.
  [[nodiscard]] bool has_channels_last() const;
};

/// Makes a plan of one primitive, timing its creation.
[[nodiscard]] ExecutionPlan single_primitive_plan(const dnnl::primitive_desc_base& description,
                                                  const std::vector<Argument>& arguments);

/// Makes the primitive of a step, adding time and scratchpad to the plan's.
[[nodiscard]] dnnl::primitive make_primitive(const dnnl::primitive_desc_base& description,
                                             ExecutionPlan& plan);

/// Names a status in words: "unimplemented", "out of memory", …
[[nodiscard]] std::string status_text(dnnl_status_t status);

/// Function that adds all of the library's variants of one layer family to the list, best first.
/// Throws Unsupported or dnnl::error where there is none.
using BuilderFunction = void (*)(const model::LayerSpec& spec,
                                 const Device& device,
                                 VariantBuilder::List& list);

void offer_convolution(const model::LayerSpec& spec,
                       const Device& device,
                       VariantBuilder::List& list);
void offer_deconvolution(const model::LayerSpec& spec,
                         const Device& device,
                         VariantBuilder::List& list);
void offer_gemm(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void offer_matmul(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void offer_batch_norm(const model::LayerSpec& spec,
                      const Device& device,
                      VariantBuilder::List& list);
void offer_lrn(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void offer_max_pool(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void offer_average_pool(const model::LayerSpec& spec,
                        const Device& device,
                        VariantBuilder::List& list);
void offer_eltwise(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void offer_prelu(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void offer_binary(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void offer_sum(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void offer_softmax(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void offer_layer_norm(const model::LayerSpec& spec,
                      const Device& device,
                      VariantBuilder::List& list);
void offer_reduction(const model::LayerSpec& spec,
                     const Device& device,
                     VariantBuilder::List& list);
void offer_resampling(const model::LayerSpec& spec,
                      const Device& device,
                      VariantBuilder::List& list);
void offer_transpose(const model::LayerSpec& spec,
                     const Device& device,
                     VariantBuilder::List& list);
void offer_cast(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void offer_split(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void offer_slice(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void offer_concat(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void offer_quantize(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void offer_dequantize(const model::LayerSpec& spec,
                      const Device& device,
                      VariantBuilder::List& list);
void offer_view(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void offer_attention(const model::LayerSpec& spec,
                     const Device& device,
                     VariantBuilder::List& list);
void offer_recurrent(const model::LayerSpec& spec,
                     const Device& device,
                     VariantBuilder::List& list);

// Gradients.
void offer_convolution_data_gradient(const model::LayerSpec& spec,
                                     const Device& device,
                                     VariantBuilder::List& list);
void offer_convolution_weights_gradient(const model::LayerSpec& spec,
                                        const Device& device,
                                        VariantBuilder::List& list);
void offer_product_gradient(const model::LayerSpec& spec,
                            const Device& device,
                            VariantBuilder::List& list);
/// Returns whether a product has a bias gradient beside it or fused training steps behind it.
/// offer_product_gradient handles such a product.
[[nodiscard]] bool has_gradient_steps(const model::LayerSpec& spec);
void offer_eltwise_gradient(const model::LayerSpec& spec,
                            const Device& device,
                            VariantBuilder::List& list);
void offer_softmax_gradient(const model::LayerSpec& spec,
                            const Device& device,
                            VariantBuilder::List& list);
void offer_batch_norm_training(const model::LayerSpec& spec,
                               const Device& device,
                               VariantBuilder::List& list);
void offer_batch_norm_gradient(const model::LayerSpec& spec,
                               const Device& device,
                               VariantBuilder::List& list);
void offer_layer_norm_gradient(const model::LayerSpec& spec,
                               const Device& device,
                               VariantBuilder::List& list);
void offer_max_pool_gradient(const model::LayerSpec& spec,
                             const Device& device,
                             VariantBuilder::List& list);
void offer_average_pool_gradient(const model::LayerSpec& spec,
                                 const Device& device,
                                 VariantBuilder::List& list);

// Built-in kernels (kernels/) for what the library lacks.
void normalize_layers(const model::LayerSpec& spec,
                      const Device& device,
                      VariantBuilder::List& list);
void normalize_groups(const model::LayerSpec& spec,
                      const Device& device,
                      VariantBuilder::List& list);
void normalize_batch(const model::LayerSpec& spec,
                     const Device& device,
                     VariantBuilder::List& list);
void normalize_response(const model::LayerSpec& spec,
                        const Device& device,
                        VariantBuilder::List& list);
void pool_max(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void pool_average(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void pool_power(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void apply_eltwise(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void apply_binary(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void apply_sum(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void apply_cast(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void copy_slice(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void copy_pad(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void copy_expand(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void copy_tile(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void copy_transpose(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void copy_split(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void copy_concat(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void copy_blocks_of_space(const model::LayerSpec& spec,
                          const Device& device,
                          VariantBuilder::List& list);
void copy_nearest(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void interpolate_resize(const model::LayerSpec& spec,
                        const Device& device,
                        VariantBuilder::List& list);
void gather_rows(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void add_rows(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void update_weights(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void adapt_loss_scale(const model::LayerSpec& spec,
                      const Device& device,
                      VariantBuilder::List& list);
void select_where(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void fold_reduce(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);
void find_extreme(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list);

/// Collects all variants of a layer: the library's and, where these are none or only reference
/// code, the built-in kernel. Throws Unsupported with the reason if there is no variant.
[[nodiscard]] VariantBuilder::List collect_builders(const model::LayerSpec& spec,
                                                    const Device& device);

/// Makes the builder of a variant that divides a layer's batch into parts, executed one after the
/// other (harness/results/labels/variant_id.hpp). Absent: the variant names no division.
/// Throws Unsupported where a part has no such variant, is more than one primitive, or wants its
/// images in a layout that cannot be cut between them.
[[nodiscard]] std::optional<VariantBuilder> divided_builder(const model::LayerSpec& spec,
                                                            std::string_view variant,
                                                            const Device& device);

/// Takes ownership of the descriptor of a gradient's own layer, which the library needs. Throws
/// Unsupported if the library has none (`status` is an error), and std::bad_alloc if it had no
/// memory.
[[nodiscard]] dnnl::primitive_desc_base forward_hint(dnnl_status_t status,
                                                     dnnl_primitive_desc_t made);

}  // namespace plumb::onednn
