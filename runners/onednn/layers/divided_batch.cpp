// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/division/divided_variant.hpp"
#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/exec/layers.hpp"
#include "runners/onednn/exec/value_layout.hpp"

namespace plumb::onednn {
namespace {

using results::BatchParts;

/// Returns the layout of all images where a part has some of them in `part`.
dnnl::memory::desc whole_layout(const dnnl::memory::desc& part, const model::TensorType& whole) {
  for (const Layout layout :
       {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16, Layout::kBlocked8}) {
    if (part == activation(whole.dtype, part.get_dims(), layout)) {
      return activation(whole.dtype, whole.dims, layout);
    }
  }
  throw Unsupported("a part wants its images in a layout that cannot be cut between them");
}

/// Finds a part's variant. Throws Unsupported if there is none.
VariantBuilder find_builder(const model::LayerSpec& spec,
                            const BatchParts& parts,
                            const Device& device) {
  const BuilderList list = collect_builders(spec, device);
  for (const VariantBuilder& builder : list.builders()) {
    if (builder.text() == parts.variant) {
      return builder;
    }
  }
  throw Unsupported(
      fmt::format("this library has no variant '{}' of a batch of {}", parts.variant, parts.batch));
}

/// Plan of a whole layer that grows by one part after the other.
class DividedPlan {
 public:
  DividedPlan(const model::LayerSpec& spec, const Device& device, std::size_t arguments)
      : spec_(spec), device_(device), batch_(model::find_batch(spec).value()), buffers_(arguments) {
    plan_.implementation = results::kDividedBatch;
  }

  /// Adds equal parts, whose plan is of one of them.
  void add(const BatchParts& parts, const ExecutionPlan& part) {
    const auto* step =
        part.steps.size() == 1 ? std::get_if<PrimitiveStep>(&part.steps[0]) : nullptr;
    if (step == nullptr || part.buffers.size() != buffers_.size()) {
      throw Unsupported("a part is more than one primitive");
    }
    PrimitiveStep whole{step->primitive, step->arguments};
    std::vector<std::size_t> image_bytes;
    std::vector<std::size_t> sums;  // buffers
    for (PrimitiveStep::Argument& argument : whole.arguments) {
      const std::size_t at = argument.buffer;
      argument.buffer = buffer_for(part.buffers[at], at);
      if (is_summed(part.buffers[at])) {
        sums.push_back(argument.buffer);
      }
      image_bytes.push_back(is_divided(part.buffers[at]) ? plan_.buffers[argument.buffer].bytes /
                                                               static_cast<std::size_t>(batch_)
                                                         : 0);
    }
    for (std::int64_t i = 0; i < parts.count; ++i) {
      for (std::size_t at = 0; at < whole.arguments.size(); ++at) {
        whole.arguments[at].offset = image_bytes[at] * static_cast<std::size_t>(done_);
      }
      if (done_ == 0) {
        plan_.steps.emplace_back(whole);
      } else {
        add_part(whole, sums);
      }
      done_ += parts.batch;
    }
    plan_.workspace_bytes = std::max(plan_.workspace_bytes, part.workspace_bytes);
    plan_.creation += part.creation;
  }

  ExecutionPlan finish() {
    PLUMB_CHECK(done_ == batch_);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const model::TensorType& type_of(const Buffer& buffer) const {
    return buffer.role == Buffer::Role::kOutput ? spec_.outputs.at(buffer.operand)
                                                : spec_.inputs.at(buffer.operand).value();
  }

  /// Returns whether a buffer holds what all parts add up to.
  [[nodiscard]] bool is_summed(const Buffer& buffer) const {
    return buffer.role == Buffer::Role::kOutput && model::adds_parts(spec_);
  }

  /// Returns whether a buffer holds images, of which each part has its own.
  [[nodiscard]] bool is_divided(const Buffer& buffer) const {
    return buffer.role == Buffer::Role::kOutput ? !model::adds_parts(spec_)
                                                : model::has_images(spec_, buffer.operand);
  }

  /// Returns the buffer of what one part adds to a sum. All parts but the first share it.
  std::size_t addend(std::size_t sum) {
    const auto [found, made] = addends_.emplace(sum, plan_.buffers.size());
    if (made) {
      Buffer buffer = plan_.buffers[sum];
      buffer.role = Buffer::Role::kIntermediate;
      buffer.operand = 0;
      buffer.view = buffer.layout;
      plan_.buffers.push_back(std::move(buffer));
    }
    return found->second;
  }

  /// Appends a part after the first, and adds what it computes to the sums.
  void add_part(PrimitiveStep part, const std::vector<std::size_t>& sums) {
    for (PrimitiveStep::Argument& argument : part.arguments) {
      if (std::find(sums.begin(), sums.end(), argument.buffer) != sums.end()) {
        argument.buffer = addend(argument.buffer);
      }
    }
    plan_.steps.emplace_back(std::move(part));
    for (const std::size_t sum : sums) {
      add_up(sum);
    }
  }

  void add_up(std::size_t sum) {
    const dnnl::memory::desc layout = plan_.buffers[sum].layout;
    dnnl_primitive_desc_t made = nullptr;
    dnnl::error::wrap_c_api(dnnl_binary_primitive_desc_create(&made,
                                                              device_.get(),
                                                              dnnl_binary_add,
                                                              layout.get(),
                                                              layout.get(),
                                                              layout.get(),
                                                              make_attributes(spec_).get()),
                            "cannot add what a part computes");
    plan_.steps.emplace_back(PrimitiveStep{make_primitive(dnnl::primitive_desc_base(made), plan_),
                                           {{DNNL_ARG_SRC_0, sum, layout, 0},
                                            {DNNL_ARG_SRC_1, addend(sum), layout, 0},
                                            {DNNL_ARG_DST, sum, layout, 0}}});
  }

  /// Returns the buffer of an argument, which parts with equal layouts share.
  std::size_t buffer_for(const Buffer& of_part, std::size_t argument) {
    Buffer buffer = of_part;
    if (is_divided(of_part)) {
      const model::TensorType& type = type_of(of_part);
      if (type.dims.size() != static_cast<std::size_t>(of_part.view.get_ndims()) || of_part.pack) {
        throw Unsupported("a part's images have other dimensions than the layer's");
      }
      buffer.view = dense(type);
      buffer.layout = whole_layout(of_part.layout, type);
      buffer.bytes = buffer.layout.get_size();
    }
    for (const std::size_t known : buffers_[argument]) {
      if (same_bytes(plan_.buffers[known].layout, buffer.layout)) {
        return known;
      }
    }
    if (!buffers_[argument].empty() && (is_divided(of_part) || is_summed(of_part))) {
      throw Unsupported("parts want their images or results in different layouts");
    }
    if (buffer.role == Buffer::Role::kOutput) {
      plan_.outputs.push_back(plan_.buffers.size());
    }
    buffers_[argument].push_back(plan_.buffers.size());
    plan_.buffers.push_back(std::move(buffer));
    return plan_.buffers.size() - 1;
  }

  const model::LayerSpec& spec_;
  const Device& device_;
  std::int64_t batch_;
  std::vector<std::vector<std::size_t>> buffers_;  // by argument
  std::map<std::size_t, std::size_t> addends_;     // by sum
  ExecutionPlan plan_;
  std::int64_t done_ = 0;  // images
};

}  // namespace

std::optional<VariantBuilder> divided_builder(const model::LayerSpec& spec,
                                              std::string_view variant,
                                              const Device& device) {
  const std::optional<std::vector<BatchParts>> parts = results::divided_parts(variant);
  if (!parts) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> batch = model::find_batch(spec);
  std::int64_t images = 0;
  std::vector<VariantBuilder> builders;
  for (const BatchParts& each : *parts) {
    if (!batch || each.batch > *batch || each.count > *batch) {
      throw Unsupported(fmt::format("a part of {} is larger than the batch", each.batch));
    }
    images += each.count * each.batch;
    builders.push_back(find_builder(model::with_batch(spec, each.batch), each, device));
  }
  if (images != batch) {
    throw Unsupported(
        fmt::format("parts of {} images together, and the batch is {}", images, batch.value_or(1)));
  }
  VariantBuilder builder;
  builder.implementation = results::kDividedBatch;
  builder.details = variant.substr(variant.find(';') + 1);
  builder.build = [spec, device, parts = *parts, builders] {
    DividedPlan plan(spec, device, builders.front().arguments.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      plan.add(parts[i], builders[i].build());
    }
    return plan.finish();
  };
  return builder;
}

}  // namespace plumb::onednn
