// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/variant_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "harness/results/labels/variant_id.hpp"
#include "runners/onednn/exec/execution_plan.hpp"
#include "runners/onednn/exec/primitive_parts.hpp"

namespace plumb::onednn {
namespace {

VariantBuilder make_builder(const dnnl::primitive_desc_base& description,
                            const std::vector<Argument>& arguments,
                            const std::string& details,
                            const std::function<void(ExecutionPlan&)>& finish) {
  VariantBuilder builder;
  builder.implementation = description.impl_info_str();
  builder.details = details;
  builder.arguments = arguments;
  for (const Argument& argument : arguments) {
    builder.layouts.push_back(description.query_md(dnnl::query::exec_arg_md, argument.index));
  }
  builder.build = [description, arguments, finish] {
    ExecutionPlan plan = single_primitive_plan(description, arguments);
    if (finish) {
      finish(plan);
    }
    return plan;
  };
  return builder;
}

}  // namespace

std::string VariantBuilder::text() const {
  std::string text = "impl=" + implementation;
  if (!details.empty()) {
    text += ";" + details;
  }
  if (number > 1) {
    text += fmt::format(";number={}", number);
  }
  return text;
}

bool VariantBuilder::is_reference() const {
  // A deconvolution names the convolution that computes it: "conv:any+ref:any".
  return implementation.starts_with("ref") || implementation.find("+ref") != std::string::npos;
}

bool VariantBuilder::has_channels_last() const {
  if (results::VariantId(details).field("kind") == "convolution") {
    return false;  // its images are rows of a matrix
  }
  constexpr std::size_t kImageRank = 3;  // batch, channels, and at least one spatial axis
  bool images = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const dnnl::memory::desc& view = arguments[i].view;
    const dnnl::memory::dims dims = view.get_dims();
    if (arguments[i].weight || dims.size() < kImageRank) {
      continue;
    }
    dnnl::memory::dims strides = dense_strides(dims);
    const dnnl::memory::dim pixels = strides[1];
    for (std::size_t axis = 2; axis < dims.size(); ++axis) {
      strides[axis] *= dims[1];
    }
    strides[1] = 1;
    if (pixels > 1 && dims[1] > 1 &&
        !same_bytes(layouts[i], dnnl::memory::desc(dims, view.get_data_type(), strides))) {
      return false;
    }
    images = images || pixels > 1;
  }
  return images;
}

void VariantBuilder::List::add_implementations(dnnl_status_t status,
                                               dnnl_primitive_desc_t first,
                                               const std::vector<Argument>& arguments,
                                               const std::string& details,
                                               const std::function<void(ExecutionPlan&)>& finish) {
  if (status != dnnl_success) {
    if (status == dnnl_out_of_memory) {
      throw std::bad_alloc();
    }
    refusal_ = status_text(status);
    return;
  }
  dnnl::primitive_desc_base cursor(first);
  do {
    dnnl_primitive_desc_t copy = nullptr;
    dnnl::error::wrap_c_api(dnnl_primitive_desc_clone(&copy, cursor.get()),
                            "cannot copy a primitive descriptor");
    add(make_builder(dnnl::primitive_desc_base(copy), arguments, details, finish));
  } while (dnnl_primitive_desc_next_impl(cursor.get()) == dnnl_success);
}

void VariantBuilder::List::add(VariantBuilder builder) {
  for (const VariantBuilder& known : builders_) {
    if (known.implementation != builder.implementation) {
      continue;
    }
    if (known.layouts == builder.layouts && !builder.layouts.empty()) {
      return;
    }
    if (known.details == builder.details) {
      ++builder.number;
    }
  }
  builders_.push_back(std::move(builder));
}

void VariantBuilder::List::take_back(std::string_view prefix, std::string reason) {
  const auto taken = std::erase_if(builders_, [&](const VariantBuilder& builder) {
    return builder.implementation.rfind(prefix, 0) == 0;
  });
  if (taken > 0) {
    refusal_ = std::move(reason);
  }
}

bool VariantBuilder::List::only_references() const {
  return std::all_of(builders_.begin(), builders_.end(), [](const VariantBuilder& builder) {
    return builder.is_reference();
  });
}

dnnl::primitive make_primitive(const dnnl::primitive_desc_base& description, ExecutionPlan& plan) {
  const auto start = std::chrono::steady_clock::now();
  dnnl::primitive primitive(description.get());
  plan.creation += Seconds(std::chrono::steady_clock::now() - start);
  plan.workspace_bytes = std::max(plan.workspace_bytes, description.scratchpad_desc().get_size());
  return primitive;
}

ExecutionPlan single_primitive_plan(const dnnl::primitive_desc_base& description,
                                    const std::vector<Argument>& arguments) {
  ExecutionPlan plan;
  plan.implementation = description.impl_info_str();
  PrimitiveStep step;
  for (const Argument& argument : arguments) {
    Buffer buffer;
    buffer.role = argument.role;
    buffer.operand = argument.operand;
    buffer.weight = argument.weight;
    buffer.view = argument.view;
    buffer.layout = description.query_md(dnnl::query::exec_arg_md, argument.index);
    buffer.bytes = buffer.layout.get_size();
    step.arguments.push_back({argument.index, plan.buffers.size(), buffer.layout, 0});
    if (argument.role == Buffer::Role::kOutput) {
      plan.outputs.push_back(plan.buffers.size());
    }
    plan.buffers.push_back(std::move(buffer));
  }
  step.primitive = make_primitive(description, plan);
  plan.steps.emplace_back(std::move(step));
  return plan;
}

std::string status_text(dnnl_status_t status) {
  switch (status) {
    case dnnl_out_of_memory:
      return "out of memory";
    case dnnl_invalid_arguments:
      return "invalid arguments: shapes, types and attributes do not fit together";
    case dnnl_unimplemented:
      return "no implementation for these types, shapes and attributes on this CPU";
    case dnnl_runtime_error:
      return "run-time error";
    case dnnl_not_required:
      return "not required";
    default:
      return fmt::format("status {}", static_cast<int>(status));
  }
}

dnnl::primitive_desc_base forward_hint(dnnl_status_t status, dnnl_primitive_desc_t made) {
  if (status == dnnl_out_of_memory) {
    throw std::bad_alloc();
  }
  if (status != dnnl_success) {
    throw Unsupported(fmt::format("the layer in training itself: {}", status_text(status)));
  }
  return dnnl::primitive_desc_base(made);
}

}  // namespace plumb::onednn
