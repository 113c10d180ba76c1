// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runners/onednn/exec/layers.hpp"
#include "runners/onednn/exec/machine.hpp"

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
                    BuilderList& list) {
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
  if (spec.math == model::MathClass::kTf32) {
    throw Unsupported(
        "no instructions that oneDNN uses on a CPU multiply in TF32: use f32, or bf16 for speed");
  }
}

}  // namespace

BuilderList collect_builders(const model::LayerSpec& spec, const Device& device) {
  check_math(spec);
  check_dense(spec);
  check_numbers(spec);
  check_size(spec);
  for (const LayerFamily& family : kFamilies) {
    if (family.op != spec.op) {
      continue;
    }
    BuilderList list;
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

}  // namespace plumb::onednn
