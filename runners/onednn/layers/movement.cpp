// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/exec/variant_builder.hpp"
#include "runners/onednn/layers/integer_operands.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;

/// One reorder of a part of the input into the whole of an output.
struct Part {
  std::size_t output = 0;
  dnnl::memory::desc from;
  dnnl::memory::desc to;
  std::size_t offset = 0;  ///< bytes from the input's start
};

const model::TensorType& source_of(const model::LayerSpec& spec) {
  if (!spec.has_input(0) || spec.outputs.empty()) {
    throw Unsupported(fmt::format("{} needs one operand and an output", spec.op));
  }
  return *spec.inputs[0];
}

void require_shape(bool fits) {
  if (!fits) {
    throw Unsupported("the output's shape does not follow from the input's and the attributes");
  }
}

Buffer plain_buffer(Buffer::Role role, std::size_t operand, const model::TensorType& type) {
  Buffer buffer;
  buffer.role = role;
  buffer.operand = operand;
  buffer.weight = role == Buffer::Role::kInput && type.constant;
  buffer.view = dense(type);
  buffer.layout = buffer.view;
  buffer.bytes = buffer.view.get_size();
  return buffer;
}

/// Adds one variant, which is a reorder for each part, all read from one buffer.
void add_reorders(const model::LayerSpec& spec,
                  const Device& device,
                  VariantBuilder::List& list,
                  std::vector<Part> parts) {
  if (!spec.epilogue.empty()) {
    throw Unsupported("a reorder fuses nothing");
  }
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  std::vector<dnnl::primitive_desc_base> descriptions;
  std::set<std::string> names;
  for (const Part& part : parts) {
    descriptions.push_back(
        dnnl::reorder::primitive_desc(device, part.from, device, part.to, attributes));
    names.insert(descriptions.back().impl_info_str());
  }
  VariantBuilder builder;
  for (const std::string& name : names) {
    builder.implementation += (builder.implementation.empty() ? "" : "+") + name;
  }
  builder.build = [spec, descriptions, parts = std::move(parts), name = builder.implementation] {
    ExecutionPlan plan;
    plan.implementation = name;
    plan.buffers.push_back(plain_buffer(Buffer::Role::kInput, 0, *spec.inputs[0]));
    for (std::size_t index = 0; index < parts.size(); ++index) {
      const Part& part = parts[index];
      plan.outputs.push_back(plan.buffers.size());
      PrimitiveStep step;
      step.primitive = make_primitive(descriptions[index], plan);
      step.arguments = {{DNNL_ARG_FROM, 0, part.from, part.offset},
                        {DNNL_ARG_TO, plan.buffers.size(), part.to, 0}};
      plan.buffers.push_back(
          plain_buffer(Buffer::Role::kOutput, part.output, spec.outputs[part.output]));
      plan.steps.emplace_back(std::move(step));
    }
    return plan;
  };
  list.add(std::move(builder));
}

}  // namespace

void offer_transpose(const model::LayerSpec& spec,
                     const Device& device,
                     VariantBuilder::List& list) {
  const model::TensorType& x = source_of(spec);
  const Dims& y = spec.outputs[0].dims;
  const Dims& perm = spec.integers("perm");
  const Dims strides = dense_strides(x.dims);
  require_shape(perm.size() == x.dims.size() && y.size() == x.dims.size() && !y.empty());
  Dims permuted;
  for (std::size_t axis = 0; axis < perm.size(); ++axis) {
    require_shape(perm[axis] >= 0 && perm[axis] < static_cast<std::int64_t>(perm.size()));
    const auto from = static_cast<std::size_t>(perm[axis]);
    require_shape(y[axis] == x.dims[from]);
    permuted.push_back(strides[from]);
  }
  const dnnl::memory::desc to = dense(spec.outputs[0]);
  add_reorders(spec, device, list, {{0, {y, library_type(x.dtype), permuted}, to, 0}});
}

void offer_cast(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list) {
  const model::TensorType& x = source_of(spec);
  const model::TensorType& y = spec.outputs[0];
  if (!model::is_floating(x.dtype) || !model::is_floating(y.dtype)) {
    throw Unsupported("oneDNN rounds and saturates where ONNX drops the fraction");
  }
  require_shape(x.dims == y.dims);
  add_reorders(spec, device, list, {{0, dense(x), dense(y), 0}});
}

void offer_split(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list) {
  const model::TensorType& x = source_of(spec);
  const Dims strides = dense_strides(x.dims);
  const std::int64_t along = spec.integer("axis");
  require_shape(along >= 0 && along < static_cast<std::int64_t>(x.dims.size()));
  const auto axis = static_cast<std::size_t>(along);
  std::vector<Part> parts;
  std::int64_t start = 0;
  for (std::size_t index = 0; index < spec.outputs.size(); ++index) {
    const model::TensorType& y = spec.outputs[index];
    require_shape(y.dims.size() == x.dims.size() && y.dtype == x.dtype);
    for (std::size_t dim = 0; dim < x.dims.size(); ++dim) {
      require_shape(dim == axis ? start + y.dims[dim] <= x.dims[dim] : y.dims[dim] == x.dims[dim]);
    }
    const auto offset =
        static_cast<std::size_t>(start * strides[axis] * model::element_bytes(x.dtype));
    parts.push_back({index, {y.dims, library_type(x.dtype), strides}, dense(y), offset});
    start += y.dims[axis];
  }
  add_reorders(spec, device, list, std::move(parts));
}

void offer_slice(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list) {
  const model::TensorType& x = source_of(spec);
  const model::TensorType& y = spec.outputs[0];
  Dims strides = dense_strides(x.dims);
  const Dims& axes = spec.integers("axes");
  const Dims& starts = spec.integers("starts");
  const Dims& steps = spec.integers("steps");
  require_shape(x.dims.size() == y.dims.size() && axes.size() == starts.size() &&
                axes.size() == steps.size());
  Dims last = y.dims;  // index of the last element read, by axis
  for (std::int64_t& index : last) {
    index -= 1;
  }
  std::int64_t offset = 0;
  for (std::size_t index = 0; index < axes.size(); ++index) {
    require_shape(axes[index] >= 0 && axes[index] < static_cast<std::int64_t>(x.dims.size()));
    const auto axis = static_cast<std::size_t>(axes[index]);
    if (steps[index] < 1) {
      throw Unsupported("a reorder does not read backwards");
    }
    require_shape(starts[index] >= 0 && starts[index] < x.dims[axis] &&
                  steps[index] <= x.dims[axis]);
    last[axis] = starts[index] + (y.dims[axis] - 1) * steps[index];
    offset += starts[index] * strides[axis];
    strides[axis] *= steps[index];
  }
  for (std::size_t axis = 0; axis < last.size(); ++axis) {
    require_shape(last[axis] < x.dims[axis]);
  }
  add_reorders(spec,
               device,
               list,
               {{0,
                 {y.dims, library_type(x.dtype), strides},
                 dense(y),
                 static_cast<std::size_t>(offset * model::element_bytes(x.dtype))}});
}

void offer_concat(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list) {
  source_of(spec);
  const model::TensorType& y = spec.outputs[0];
  const std::int64_t axis = spec.integer("axis");
  if (!spec.epilogue.empty()) {
    throw Unsupported("oneDNN fuses nothing into concat");
  }
  for (const Layout layout : given_layouts(y.dims.size())) {
    std::vector<dnnl::memory::desc> sources;
    std::vector<const_dnnl_memory_desc_t> handles;
    std::vector<Argument> arguments;
    for (std::size_t index = 0; index < spec.inputs.size(); ++index) {
      const model::TensorType& x = spec.inputs[index].value();
      sources.push_back(activation(x.dtype, x.dims, layout));
      arguments.push_back(
          input(spec, DNNL_ARG_MULTIPLE_SRC + static_cast<int>(index), index, dense(x)));
    }
    for (const auto& source : sources) {
      handles.push_back(source.get());
    }
    arguments.push_back(output(DNNL_ARG_DST, 0, dense(y)));
    const auto result = activation(y.dtype, y.dims, layout);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status = dnnl_concat_primitive_desc_create(&first,
                                                                   device.get(),
                                                                   result.get(),
                                                                   static_cast<int>(handles.size()),
                                                                   static_cast<int>(axis),
                                                                   handles.data(),
                                                                   attributes.get());
    list.add_implementations(status, first, arguments, fmt::format("layout={}", to_text(layout)));
  }
}

/// Adds a view, which is its input under another name. The plan has a buffer and no step.
void offer_view(const model::LayerSpec& spec,
                const Device& /*device*/,
                VariantBuilder::List& list) {
  const model::TensorType& x = source_of(spec);
  if (model::byte_size(x) != model::byte_size(spec.outputs[0]) || !spec.epilogue.empty()) {
    throw Unsupported("a view has as many bytes as its input and fuses nothing");
  }
  VariantBuilder builder;
  builder.implementation = "plumb:view";
  builder.build = [type = x] {
    ExecutionPlan plan;
    plan.implementation = "plumb:view";
    Buffer buffer;
    buffer.weight = type.constant;
    buffer.bytes = static_cast<std::size_t>(model::byte_size(type).value);
    plan.buffers.push_back(std::move(buffer));
    plan.outputs.push_back(0);
    return plan;
  };
  list.add(std::move(builder));
}

namespace {

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
                    VariantBuilder::List& list,
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
        &first, from.get(), device.get(), to.get(), device.get(), attributes.get());
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

void offer_quantize(const model::LayerSpec& spec,
                    const Device& device,
                    VariantBuilder::List& list) {
  offer_reorders(spec, device, list, DNNL_ARG_TO);
}

void offer_dequantize(const model::LayerSpec& spec,
                      const Device& device,
                      VariantBuilder::List& list) {
  offer_reorders(spec, device, list, DNNL_ARG_FROM);
}

}  // namespace plumb::onednn
