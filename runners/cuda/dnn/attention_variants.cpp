// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/attention_variants.hpp"

#include "harness/model/key/attention_shape.hpp"
#include "harness/model/key/gradient_layer.hpp"
#include "runners/cuda/dnn/attention_gradient_graph.hpp"
#include "runners/cuda/dnn/attention_graph.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {

namespace {

template <typename List>
std::vector<VariantBuilder> builders_or_none(const List& list) {
  try {
    return list();
  } catch (const Unsupported&) {
    return {};
  } catch (const CudnnRefusal&) {
    return {};
  }
}

}  // namespace

GraphForm attention_form(const model::LayerSpec& spec) {
  return {"graph=sdpa",
          attention_graph(spec),
          std::vector<TensorLayout>(spec.inputs.size(), TensorLayout::kChannelsFirst),
          TensorLayout::kChannelsFirst,
          {}};
}

std::vector<VariantBuilder> attention_variants(const model::LayerSpec& spec, CudnnHandle& handle) {
  return builders_or_none([&] { return graph_variants(spec, attention_form(spec), handle, {}); });
}

std::vector<VariantBuilder> attention_gradient_offers(const model::LayerSpec& spec,
                                                      CudnnHandle& handle) {
  return builders_or_none([&] {
    require_sound_attention_gradient(spec, handle.library().version_number());
    return graph_variants(spec, attention_gradient_form(spec), handle, {});
  });
}

void require_sound_attention_gradient(const model::LayerSpec& spec, std::size_t version) {
  const model::AttentionShape shape = model::attention_shape(model::forward_layer(spec));
  if (version == 91000 || version == 91001) {
    throw Unsupported("attention's gradient by cuDNN 9.10.0 and 9.10.1, which have known faults");
  }
  if (version <= 91500 && shape.keys % 128 != 0) {
    throw Unsupported(
        "attention's gradient by cuDNN up to 9.15 with a number of keys that is not a multiple of "
        "128");
  }
  if (shape.queries == 1 && shape.keys == 1) {
    throw Unsupported("attention's gradient by cuDNN of one query and one key");
  }
}

}  // namespace plumb::cuda
