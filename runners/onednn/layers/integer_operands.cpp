// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/layers/integer_operands.hpp"

#include <cstring>

#include "harness/model/key/operator_families.hpp"
#include "runners/onednn/exec/machine.hpp"
#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"

namespace plumb::onednn {

using Dims = dnnl::memory::dims;

Pack zero_point_pack(model::DataType type) {
  return [type](const std::byte* operand, std::byte* packed) {
    float number = 0.0F;
    load(type, operand, 1, &number);
    const auto whole = static_cast<std::int32_t>(number);
    std::memcpy(packed, &whole, sizeof(whole));
  };
}

bool has_exact_integer_products() {
  return has_vnni(static_cast<unsigned>(dnnl_get_effective_cpu_isa()));
}

IntegerOperands::IntegerOperands(const model::LayerSpec& spec,
                                 int channels,
                                 dnnl::primitive_attr& attributes) {
  if (!model::is_integer_product(spec)) {
    return;
  }
  if (!has_exact_integer_products()) {
    throw Unsupported(
        "products of 8-bit integers need a CPU with VNNI: without it oneDNN halves weights or lets "
        "sums saturate at 16 bits");
  }
  const model::QuantizedProduct at = model::quantized_product(spec);
  add_zero_point(spec, at.x_zero_point, DNNL_ARG_SRC, attributes);
  add_zero_point(spec, at.w_zero_point, DNNL_ARG_WEIGHTS, attributes);
  add_zero_point(spec, at.y_zero_point, DNNL_ARG_DST, attributes);
  x_scale_ = arguments_.size();
  add_scale(spec, at.x_scale, DNNL_ARG_SRC, 0, attributes);
  add_scale(spec, at.w_scale, DNNL_ARG_WEIGHTS, channels, attributes);
  add_scale(spec, at.y_scale, DNNL_ARG_DST, 0, attributes);
}

void IntegerOperands::add_scale(const model::LayerSpec& spec,
                                std::size_t operand,
                                int of,
                                int channels,
                                dnnl::primitive_attr& attributes) {
  if (!spec.has_input(operand)) {
    return;
  }
  const std::int64_t numbers = element_count(*spec.inputs[operand]);
  attributes.set_scales_mask(of, numbers > 1 ? channels : 0);
  arguments_.push_back(
      input(spec, DNNL_ARG_ATTR_SCALES | of, operand, dense(model::DataType::kF32, Dims{numbers})));
  packs_.emplace_back();
}

void IntegerOperands::add_zero_point(const model::LayerSpec& spec,
                                     std::size_t operand,
                                     int of,
                                     dnnl::primitive_attr& attributes) {
  if (!spec.has_input(operand)) {
    return;
  }
  const model::TensorType& type = *spec.inputs[operand];
  if (!type.constant) {
    throw Unsupported("a zero point that is not constant");
  }
  if (element_count(type) != 1) {
    throw Unsupported("zero points of channels");
  }
  attributes.set_zero_points_mask(of, 0);
  arguments_.push_back(
      input(spec, DNNL_ARG_ATTR_ZERO_POINTS | of, operand, dense(model::DataType::kS32, Dims{1})));
  packs_.push_back(zero_point_pack(type.dtype));
}

void IntegerOperands::finish(ExecutionPlan& plan, std::size_t before) const {
  take_as_they_are(plan, before, packs_);
}

void take_as_they_are(ExecutionPlan& plan, std::size_t first, const std::vector<Pack>& packs) {
  auto& step = std::get<PrimitiveStep>(plan.steps.front());
  for (std::size_t i = 0; i < packs.size(); ++i) {
    Buffer& buffer = plan.buffers[first + i];
    buffer.layout = buffer.view;
    buffer.bytes = buffer.view.get_size();
    buffer.pack = packs[i];
    step.arguments[first + i].layout = buffer.view;
  }
}

}  // namespace plumb::onednn
