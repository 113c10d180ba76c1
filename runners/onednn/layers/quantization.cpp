// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "runners/onednn/exec/attributes.hpp"
#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/exec/layers.hpp"
#include "runners/onednn/layers/integer_operands.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;

/// Layouts of a tensor before and after the conversion.
struct Way {
  Layout from;
  Layout to;
};

/// Lists the layouts to convert between, those first that integer convolutions prefer.
std::vector<Way> ways(std::size_t rank) {
  if (rank < 3) {
    return {{Layout::kPlain, Layout::kPlain}};
  }
  return {{Layout::kChannelsLast, Layout::kChannelsLast},
          {Layout::kBlocked16, Layout::kChannelsLast},
          {Layout::kPlain, Layout::kChannelsLast},
          {Layout::kPlain, Layout::kPlain}};
}

/// Adds reorders that change the type. The scale belongs to the side `grid`, which holds the
/// integers.
void offer_reorders(const model::LayerSpec& spec,
                    const Device& device,
                    BuilderList& list,
                    int grid) {
  if (!spec.epilogue.empty()) {
    throw Unsupported("a reorder fuses nothing");
  }
  const model::TensorType& x = *spec.inputs.at(0);
  const model::TensorType& y = spec.outputs.at(0);
  const Dims dims = dense(x).get_dims();
  const std::int64_t numbers = element_count(*spec.inputs.at(1));
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_scales_mask(grid, numbers > 1 ? 1 << spec.integer("axis") : 0);
  std::vector<Argument> own{
      input(spec, DNNL_ARG_ATTR_SCALES | grid, 1, dense(model::DataType::kF32, Dims{numbers}))};
  std::vector<Pack> packs(1);
  if (spec.has_input(2)) {
    if (numbers > 1 || !spec.inputs[2]->constant) {
      throw Unsupported("zero points that are not one constant");
    }
    attributes.set_zero_points_mask(grid, 0);
    own.push_back(
        input(spec, DNNL_ARG_ATTR_ZERO_POINTS | grid, 2, dense(model::DataType::kS32, Dims{1})));
    packs.push_back(zero_point_pack(spec.inputs[2]->dtype));
  }
  for (const Way& way : ways(dims.size())) {
    const auto from = activation(x.dtype, dims, way.from);
    const auto to = activation(y.dtype, dims, way.to);
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status = dnnl_reorder_primitive_desc_create(
        &first, from.get(), device.engine.get(), to.get(), device.engine.get(), attributes.get());
    std::vector<Argument> arguments{input(spec, DNNL_ARG_FROM, 0, dense(x)),
                                    output(DNNL_ARG_TO, 0, dense(y))};
    const std::size_t before = arguments.size();
    arguments.insert(arguments.end(), own.begin(), own.end());
    const auto finish = [before, packs](ExecutionPlan& plan) {
      take_as_they_are(plan, before, packs);
    };
    list.add_implementations(
        status,
        first,
        arguments,
        way.from == way.to ? fmt::format("layout={}", to_text(way.from))
                           : fmt::format("layout={}_to_{}", to_text(way.from), to_text(way.to)),
        finish);
  }
}

}  // namespace

void offer_quantize(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
  offer_reorders(spec, device, list, DNNL_ARG_TO);
}

void offer_dequantize(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
  offer_reorders(spec, device, list, DNNL_ARG_FROM);
}

}  // namespace plumb::onednn
