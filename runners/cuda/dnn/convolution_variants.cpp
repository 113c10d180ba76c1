// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/convolution_variants.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "harness/model/key/quantized_product.hpp"
#include "runners/cuda/builtin/integer_variants.hpp"
#include "runners/cuda/builtin/split_layer.hpp"
#include "runners/cuda/dnn/convolution_graph.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {
namespace {

constexpr std::array kLayouts{TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast};
constexpr std::array kLayoutsOfIntegers{kLayouts[1], kLayouts[0]};

/// Adds cuDNN's variants of each form. Returns why the last form that was refused has none; empty:
/// no form was refused.
std::string add_builders(std::vector<VariantBuilder>& builders,
                         const model::LayerSpec& spec,
                         bool apart,
                         CudnnHandle& handle,
                         const KernelStep& kernel) {
  std::string refusal;
  try {
    for (GraphForm& form : convolution_forms(spec, apart)) {
      try {
        std::vector<VariantBuilder> more = graph_variants(spec, std::move(form), handle, kernel);
        std::move(more.begin(), more.end(), std::back_inserter(builders));
      } catch (const CudnnRefusal& words) {
        refusal = fmt::format("cuDNN: {}", words.what());
      }
    }
  } catch (const Unsupported& reason) {
    refusal = reason.what();
  }
  return refusal;
}

}  // namespace

std::vector<GraphForm> convolution_forms(const model::LayerSpec& spec, bool apart) {
  const SplitLayer split = apart ? split_layer(spec) : SplitLayer{spec, {}};
  std::vector<GraphForm> forms;
  forms.reserve(kLayouts.size());
  for (const TensorLayout layout :
       model::is_integer_product(spec) ? kLayoutsOfIntegers : kLayouts) {
    forms.push_back({fmt::format("layout={}{}", to_text(layout), apart ? ";steps=apart" : ""),
                     convolution_graph(split.alone, layout),
                     input_layouts(spec, split.behind, layout),
                     layout,
                     split.behind});
  }
  return forms;
}

std::vector<VariantBuilder> integer_convolution_offers(const model::LayerSpec& spec,
                                                       CudnnHandle& handle,
                                                       const KernelStep& kernel) {
  std::vector<VariantBuilder> builders;
  std::string refusal;
  try {
    builders = integer_variants(
        spec,
        [&](const model::LayerSpec& product) {
          return convolution_variants(product, handle, kernel);
        },
        kernel);
  } catch (const Unsupported& reason) {
    refusal = reason.what();
  }
  if (spec.outputs.at(0).dtype != model::DataType::kS32) {
    std::vector<VariantBuilder> fused;
    const std::string other = add_builders(fused, spec, false, handle, kernel);
    refusal = refusal.empty() ? other : refusal;
    // How cuDNN rounds as it stores integers is documented nowhere, so it is not the first choice.
    builders.insert(model::rounds_to_integers(spec) ? builders.end() : builders.begin(),
                    std::make_move_iterator(fused.begin()),
                    std::make_move_iterator(fused.end()));
  }
  if (builders.empty()) {
    throw Unsupported(refusal);
  }
  return builders;
}

std::vector<VariantBuilder> convolution_variants(const model::LayerSpec& spec,
                                                 CudnnHandle& handle,
                                                 const KernelStep& kernel) {
  std::vector<VariantBuilder> builders;
  std::string refusal = add_builders(builders, spec, false, handle, kernel);
  const bool has_steps = spec.has_input(2) || !spec.epilogue.empty() || spec.outputs.size() > 1;
  if (has_steps && (builders.empty() || spec.op == "conv_transpose")) {
    const std::string other = add_builders(builders, spec, true, handle, kernel);
    refusal = refusal.empty() ? other : refusal;
  }
  if (builders.empty()) {
    throw Unsupported(refusal.empty() ? "cuDNN: no engine has the layer's promised precision"
                                      : refusal);
  }
  return builders;
}

}  // namespace plumb::cuda
