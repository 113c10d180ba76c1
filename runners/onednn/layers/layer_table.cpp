// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "runners/onednn/exec/execution_plan.hpp"
#include "runners/onednn/exec/machine.hpp"
#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {
namespace {

/// One row of the table of operators: the library's function, and the built-in kernel. The kernel
/// serves where the library has nothing, or only reference code.
struct LayerFamily {
  std::string_view op;
  BuilderFunction library;  ///< null: the library has nothing of the kind
  BuilderFunction own;      ///< null: no built-in kernel
};

constexpr std::array kFamilies = std::to_array<LayerFamily>({
    {"conv", offer_convolution, nullptr},
    {"conv_transpose", offer_deconvolution, nullptr},
    {"gemm", offer_gemm, nullptr},
    {"matmul", offer_matmul, nullptr},
    {"batch_norm", offer_batch_norm, normalize_batch},
    {"layer_norm", offer_layer_norm, normalize_layers},
    {"rms_norm", nullptr, normalize_layers},
    {"instance_norm", nullptr, normalize_groups},
    {"group_norm", nullptr, normalize_groups},
    {"lrn", offer_lrn, normalize_response},
    {"max_pool", offer_max_pool, pool_max},
    {"average_pool", offer_average_pool, pool_average},
    {"lp_pool", nullptr, pool_power},
    {"eltwise", offer_eltwise, apply_eltwise},
    {"prelu", offer_prelu, nullptr},
    {"binary", offer_binary, apply_binary},
    {"sum", offer_sum, apply_sum},
    {"softmax", offer_softmax, nullptr},
    {"concat", offer_concat, copy_concat},
    {"split", offer_split, copy_split},
    {"slice", offer_slice, copy_slice},
    {"pad", nullptr, copy_pad},
    {"transpose", offer_transpose, copy_transpose},
    {"view", offer_view, nullptr},
    {"gather", nullptr, gather_rows},
    {"resize", offer_resampling, interpolate_resize},
    {"reduce", offer_reduction, fold_reduce},
    {"arg_reduce", nullptr, find_extreme},
    {"where", nullptr, select_where},
    {"cast", offer_cast, apply_cast},
    {"expand", nullptr, copy_expand},
    {"tile", nullptr, copy_tile},
    {"depth_to_space", nullptr, copy_blocks_of_space},
    {"space_to_depth", nullptr, copy_blocks_of_space},
    {"attention", offer_attention, nullptr},
    {"matmul_integer", offer_matmul, nullptr},
    {"conv_integer", offer_convolution, nullptr},
    {"quantize", offer_quantize, nullptr},
    {"dequantize", offer_dequantize, nullptr},
    {"max", nullptr, apply_sum},
    {"min", nullptr, apply_sum},
    {"rnn", offer_recurrent, nullptr},
    {"gru", offer_recurrent, nullptr},
    {"lstm", offer_recurrent, nullptr},
    {"conv_backward_data", offer_convolution_data_gradient, nullptr},
    {"conv_backward_weights", offer_convolution_weights_gradient, nullptr},
    {"gemm_bias_gradient", offer_product_gradient, nullptr},
    {"eltwise_backward", offer_eltwise_gradient, nullptr},
    {"softmax_backward", offer_softmax_gradient, nullptr},
    {"batch_norm_training", offer_batch_norm_training, nullptr},
    {"batch_norm_backward", offer_batch_norm_gradient, nullptr},
    {"layer_norm_backward", offer_layer_norm_gradient, nullptr},
    {"max_pool_backward", offer_max_pool_gradient, nullptr},
    {"gather_backward", nullptr, add_rows},
    {"average_pool_backward", offer_average_pool_gradient, nullptr},
    {"sgd", nullptr, update_weights},
    {"adam", nullptr, update_weights},
    {"lamb", nullptr, update_weights},
    {"loss_scale", nullptr, adapt_loss_scale},
});

/// Runs one function of the table. Returns why it added nothing, or an empty text.
std::string collect(BuilderFunction function,
                    const model::LayerSpec& spec,
                    const Device& device,
                    VariantBuilder::List& list) {
  if (function == nullptr) {
    return {};
  }
  try {
    function(spec, device, list);
    return list.empty() ? list.refusal() : std::string();
  } catch (const Unsupported& refusal) {
    return refusal.what();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) {
      throw std::bad_alloc();
    }
    return status_text(error.status);
  }
}

void check_number(std::int64_t number, std::int64_t most, const std::string& what) {
  if (number > most || number < -most) {
    throw Unsupported(fmt::format("{} {} is above {}", what, number, most));
  }
}

/// Throws Unsupported for extents beyond 2^31 and attributes beyond 2^30. So sums and products of
/// two of them do not overflow later.
void check_numbers(const model::LayerSpec& spec) {
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
  constexpr std::int64_t kMaxAttribute = std::int64_t{1} << 30;
  const auto check_extents = [](const model::TensorType& type) {
    std::int64_t product =
        1;  // extents of 0 count as 1: the strides of an empty tensor are products of the others
    for (const std::int64_t extent : type.dims) {
      check_number(extent, kMaxExtent, "the extent");
      const std::int64_t factor = std::max<std::int64_t>(extent, 1);
      check_number(factor, kMaxElements / product, "multiplied with the others, the extent");
      product *= factor;
    }
  };
  for (const auto& operand : spec.inputs) {
    check_extents(operand.value_or(model::TensorType{}));
  }
  for (const model::TensorType& result : spec.outputs) {
    check_extents(result);
  }
  for (const auto& [name, attribute] : spec.attributes) {
    if (const auto* number = std::get_if<std::int64_t>(&attribute)) {
      check_number(*number, kMaxAttribute, name);
    } else if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&attribute)) {
      for (const std::int64_t item : *numbers) {
        check_number(item, kMaxAttribute, name);
      }
    }
  }
}

/// Throws Unsupported for a product of matrices whose operands and results do not fit into the
/// machine. The library divides by products of extents that wrap at such sizes. Other layers of
/// such a size are refused where their buffers are planned.
void check_size(const model::LayerSpec& spec) {
  if (spec.op != "matmul" && spec.op != "gemm") {
    return;
  }
  Bytes needed;
  for (const auto& operand : spec.inputs) {
    needed += model::byte_size(operand.value_or(model::TensorType{.dims = {0}}));
  }
  for (const model::TensorType& result : spec.outputs) {
    needed += model::byte_size(result);
  }
  if (needed > physical_memory()) {
    throw Unsupported(
        fmt::format("operands and results of {} bytes, and the machine has {} bytes of memory",
                    needed.value,
                    physical_memory().value));
  }
}

/// Returns what follows the library's refusal of a layer. It names the instructions that f16 needs
/// where the CPU lacks them.
std::string missing_instructions(const model::LayerSpec& spec) {
  const bool f16 = std::any_of(spec.inputs.begin(), spec.inputs.end(), [](const auto& operand) {
    return operand && operand->dtype == model::DataType::kF16;
  });
  const auto bits = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
  return f16 && !has_f16(bits)
             ? fmt::format("; f16 needs AVX512_CORE_FP16 or AVX2_VNNI_2, and oneDNN uses {}",
                           instruction_set_text(bits))
             : "";
}

void check_dense(const model::LayerSpec& spec) {
  for (const auto& operand : spec.inputs) {
    if (operand && !operand->strides.empty()) {
      throw Unsupported("this backend takes dense operands only");
    }
  }
}

/// Throws Unsupported for a class of math that no instructions of a CPU compute here.
void check_math(const model::LayerSpec& spec) {
  if (spec.math == model::LayerSpec::MathClass::kTf32) {
    throw Unsupported(
        "no instructions that oneDNN uses on a CPU multiply in TF32: use f32, or bf16 for speed");
  }
}

}  // namespace

VariantBuilder::List collect_builders(const model::LayerSpec& spec, const Device& device) {
  check_math(spec);
  check_dense(spec);
  check_numbers(spec);
  check_size(spec);
  for (const LayerFamily& family : kFamilies) {
    if (family.op != spec.op) {
      continue;
    }
    VariantBuilder::List list;
    std::string reason = collect(family.library, spec, device, list);
    if (list.only_references()) {
      const std::string own = collect(family.own, spec, device, list);
      reason += (reason.empty() || own.empty() ? "" : "; ") + own;
    }
    if (list.empty()) {
      throw Unsupported(fmt::format("{}: {}{}", spec.op, reason, missing_instructions(spec)));
    }
    return list;
  }
  throw Unsupported(fmt::format("this backend has no operator '{}'", spec.op));
}

namespace {

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
                            const results::VariantId::Parts& parts,
                            const Device& device) {
  const VariantBuilder::List list = collect_builders(spec, device);
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
  void add(const results::VariantId::Parts& parts, const ExecutionPlan& part) {
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
  const std::optional<std::vector<results::VariantId::Parts>> parts =
      results::divided_parts(variant);
  if (!parts) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> batch = model::find_batch(spec);
  std::int64_t images = 0;
  std::vector<VariantBuilder> builders;
  for (const results::VariantId::Parts& each : *parts) {
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
