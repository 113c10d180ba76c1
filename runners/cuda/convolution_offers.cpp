// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/convolution_offers.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "harness/model/quantized_product.hpp"
#include "runners/cuda/convolution_graph.hpp"
#include "runners/cuda/index_space.hpp"
#include "runners/cuda/integer_offers.hpp"
#include "runners/cuda/split_layer.hpp"

namespace plumb::cuda {
namespace {

constexpr std::array kLayouts{TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast};
constexpr std::array kLayoutsOfIntegers{kLayouts[1], kLayouts[0]};

/// Adds what cuDNN offers for each form; returns the first reason why there is not more.
std::string add_offers(std::vector<DeviceOffer>& offers,
                       const LayerSpec& spec,
                       bool apart,
                       CudnnHandle& handle,
                       const KernelStep& kernel) {
  std::string refusal;
  try {
    for (GraphForm& form : convolution_forms(spec, apart)) {
      try {
        std::vector<DeviceOffer> more = graph_offers(spec, std::move(form), handle, kernel);
        std::move(more.begin(), more.end(), std::back_inserter(offers));
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

std::vector<GraphForm> convolution_forms(const LayerSpec& spec, bool apart) {
  const SplitLayer split = apart ? split_layer(spec) : SplitLayer{spec, {}};
  std::vector<GraphForm> forms;
  forms.reserve(kLayouts.size());
  for (const TensorLayout layout : is_integer_product(spec) ? kLayoutsOfIntegers : kLayouts) {
    forms.push_back({fmt::format("layout={}{}", to_text(layout), apart ? ";steps=apart" : ""),
                     convolution_graph(split.alone, layout),
                     input_layouts(spec, split.behind, layout),
                     layout,
                     split.behind});
  }
  return forms;
}

std::vector<DeviceOffer> integer_convolution_offers(const LayerSpec& spec,
                                                    CudnnHandle& handle,
                                                    const KernelStep& kernel) {
  std::vector<DeviceOffer> offers;
  std::string refusal;
  try {
    offers = integer_offers(
        spec,
        [&](const LayerSpec& product) { return convolution_offers(product, handle, kernel); },
        kernel);
  } catch (const Unsupported& reason) {
    refusal = reason.what();
  }
  if (spec.outputs.at(0).dtype != DataType::kS32) {
    std::vector<DeviceOffer> fused;
    const std::string other = add_offers(fused, spec, false, handle, kernel);
    refusal = refusal.empty() ? other : refusal;
    // How cuDNN rounds as it stores integers is documented nowhere: no first choice.
    offers.insert(rounds_to_integers(spec) ? offers.end() : offers.begin(),
                  std::make_move_iterator(fused.begin()),
                  std::make_move_iterator(fused.end()));
  }
  if (offers.empty()) {
    throw Unsupported(refusal);
  }
  return offers;
}

std::vector<DeviceOffer> convolution_offers(const LayerSpec& spec,
                                            CudnnHandle& handle,
                                            const KernelStep& kernel) {
  std::vector<DeviceOffer> offers;
  std::string refusal = add_offers(offers, spec, false, handle, kernel);
  const bool has_steps = spec.has_input(2) || !spec.epilogue.empty() || spec.outputs.size() > 1;
  if (has_steps && (offers.empty() || spec.op == "conv_transpose")) {
    const std::string other = add_offers(offers, spec, true, handle, kernel);
    refusal = refusal.empty() ? other : refusal;
  }
  if (offers.empty()) {
    throw Unsupported(refusal.empty() ? "cuDNN: no engine keeps the layer's promise of precision"
                                      : refusal);
  }
  return offers;
}

}  // namespace plumb::cuda
