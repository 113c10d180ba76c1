// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "runners/onednn/reproducer/primitive_description.hpp"

namespace plumb::onednn {
namespace {

using Made = std::string (*)(const PrimitiveDescription&);

/// One kind of primitive: its class, and the arguments between engine and attributes.
struct Kind {
  dnnl_primitive_kind_t kind;
  std::string_view name;
  Made arguments;
};

std::string source_and_result(const PrimitiveDescription& d) {
  return d.argument(DNNL_ARG_SRC) + ", " + d.argument(DNNL_ARG_DST);
}

std::string convolution(const PrimitiveDescription& d) {
  return fmt::format("{}, {}, {}, {}, {}{}, {}, {}, {}, {}",
                     d.propagation(),
                     d.algorithm(),
                     d.argument(DNNL_ARG_SRC),
                     d.argument(DNNL_ARG_WEIGHTS),
                     d.bias(),
                     d.argument(DNNL_ARG_DST),
                     d.extents(dnnl_query_strides),
                     d.extents(dnnl_query_dilations),
                     d.extents(dnnl_query_padding_l),
                     d.extents(dnnl_query_padding_r));
}

std::string product(const PrimitiveDescription& d) {
  return fmt::format("{}, {}, {}{}",
                     d.argument(DNNL_ARG_SRC),
                     d.argument(DNNL_ARG_WEIGHTS),
                     d.bias(),
                     d.argument(DNNL_ARG_DST));
}

std::string inner_product(const PrimitiveDescription& d) {
  return d.propagation() + ", " + product(d);
}

std::string pooling(const PrimitiveDescription& d) {
  return fmt::format("{}, {}, {}, {}, {}, {}, {}, {}",
                     d.propagation(),
                     d.algorithm(),
                     source_and_result(d),
                     d.extents(dnnl_query_strides),
                     d.extents(dnnl_query_kernel),
                     d.extents(dnnl_query_dilations),
                     d.extents(dnnl_query_padding_l),
                     d.extents(dnnl_query_padding_r));
}

std::string softmax(const PrimitiveDescription& d) {
  return fmt::format("{}, {}, {}, {}",
                     d.propagation(),
                     d.algorithm(),
                     source_and_result(d),
                     d.value<int>(dnnl_query_axis_s32));
}

std::string normalization(const PrimitiveDescription& d) {
  return fmt::format("{}, {}, {}F, {}",
                     d.propagation(),
                     source_and_result(d),
                     d.number(dnnl_query_epsilon_f32),
                     d.flags());
}

std::string local_response(const PrimitiveDescription& d) {
  return fmt::format("{}, {}, {}, {}, {}, {}, {}",
                     d.propagation(),
                     d.algorithm(),
                     source_and_result(d),
                     d.value<dnnl_dim_t>(dnnl_query_local_size_s64),
                     d.number(dnnl_query_alpha_f32),
                     d.number(dnnl_query_beta_f32),
                     d.number(dnnl_query_k_f32));
}

std::string eltwise(const PrimitiveDescription& d) {
  return fmt::format("{}, {}, {}, {}, {}",
                     d.propagation(),
                     d.algorithm(),
                     source_and_result(d),
                     d.number(dnnl_query_alpha_f32),
                     d.number(dnnl_query_beta_f32));
}

std::string binary(const PrimitiveDescription& d) {
  return fmt::format("{}, {}, {}, {}",
                     d.algorithm(),
                     d.argument(DNNL_ARG_SRC_0),
                     d.argument(DNNL_ARG_SRC_1),
                     d.argument(DNNL_ARG_DST));
}

std::string prelu(const PrimitiveDescription& d) {
  return d.propagation() + ", " + product(d);
}

std::string reduction(const PrimitiveDescription& d) {
  return fmt::format("{}, {}, {}, {}",
                     d.algorithm(),
                     source_and_result(d),
                     d.number(dnnl_query_p_f32),
                     d.number(dnnl_query_epsilon_f32));
}

std::string resampling(const PrimitiveDescription& d) {
  return fmt::format("{}, {}, {}", d.propagation(), d.algorithm(), source_and_result(d));
}

/// Writes a concat. The library does not tell the axis; along it the result is longer than a part.
std::string concat(const PrimitiveDescription& d) {
  const dnnl::memory::dims part = d.memory(DNNL_ARG_MULTIPLE_SRC).get_dims();
  const dnnl::memory::dims whole = d.memory(DNNL_ARG_DST).get_dims();
  const auto longer = std::mismatch(part.begin(), part.end(), whole.begin()).first;
  const auto axis = longer == part.end() ? 0 : longer - part.begin();
  return fmt::format("{}, {}, {}", d.argument(DNNL_ARG_DST), axis, d.sources());
}

/// Writes a sum. The library does not tell its factors, which are always 1 here.
std::string sum(const PrimitiveDescription& d) {
  int count = 0;
  const std::string sources = d.sources(&count);
  return fmt::format(
      "{}, std::vector<float>({}, 1.0F), {}", d.argument(DNNL_ARG_DST), count, sources);
}

std::string reorder(const PrimitiveDescription& d) {
  return fmt::format("{}, engine, {}", d.argument(DNNL_ARG_FROM), d.argument(DNNL_ARG_TO));
}

constexpr std::array<Kind, 17> kKinds{{
    {dnnl_convolution, "convolution_forward", convolution},
    {dnnl_deconvolution, "deconvolution_forward", convolution},
    {dnnl_inner_product, "inner_product_forward", inner_product},
    {dnnl_matmul, "matmul", product},
    {dnnl_pooling, "pooling_forward", pooling},
    {dnnl_softmax, "softmax_forward", softmax},
    {dnnl_batch_normalization, "batch_normalization_forward", normalization},
    {dnnl_layer_normalization, "layer_normalization_forward", normalization},
    {dnnl_lrn, "lrn_forward", local_response},
    {dnnl_eltwise, "eltwise_forward", eltwise},
    {dnnl_binary, "binary", binary},
    {dnnl_prelu, "prelu_forward", prelu},
    {dnnl_reduction, "reduction", reduction},
    {dnnl_resampling, "resampling_forward", resampling},
    {dnnl_concat, "concat", concat},
    {dnnl_sum, "sum", sum},
    {dnnl_reorder, "reorder", reorder},
}};

const Kind& kind_of(const PrimitiveDescription& description) {
  const dnnl_primitive_kind_t wanted = description.kind();
  const auto* const found = std::find_if(
      kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.kind == wanted; });
  if (found == kKinds.end()) {
    std::vector<std::string_view> names;
    std::transform(kKinds.begin(), kKinds.end(), std::back_inserter(names), [](const Kind& kind) {
      return std::string_view(dnnl_prim_kind2str(kind.kind));
    });
    throw Error(Error::Kind::kUser,
                fmt::format("no reproducer can be written for a primitive of the kind {}; the "
                            "supported kinds are: {}",
                            dnnl_prim_kind2str(wanted),
                            fmt::join(names, ", ")));
  }
  return *found;
}

std::string post_operation(const_dnnl_post_ops_t list,
                           int index,
                           const PrimitiveDescription& description) {
  const dnnl_primitive_kind_t kind = dnnl_post_ops_get_kind(list, index);
  dnnl_alg_kind_t algorithm = dnnl_alg_kind_undef;
  if (kind == dnnl_eltwise) {
    float alpha = 0.0F;
    float beta = 0.0F;
    dnnl::error::wrap_c_api(
        dnnl_post_ops_get_params_eltwise(list, index, &algorithm, &alpha, &beta),
        "a post-operation");
    return fmt::format("post_operations.append_eltwise(dnnl::algorithm::{}, {:.9g}, {:.9g});",
                       dnnl_alg_kind2str(algorithm),
                       alpha,
                       beta);
  }
  if (kind == dnnl_binary) {
    const_dnnl_memory_desc_t unused = nullptr;
    dnnl::error::wrap_c_api(dnnl_post_ops_get_params_binary(list, index, &algorithm, &unused),
                            "a post-operation");
    return fmt::format(
        "post_operations.append_binary(dnnl::algorithm::{}, {});",
        dnnl_alg_kind2str(algorithm),
        description.argument(DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_SRC_1));
  }
  if (kind == dnnl_sum) {
    float scale = 0.0F;
    std::int32_t zero = 0;
    dnnl_data_type_t type = dnnl_data_type_undef;
    dnnl::error::wrap_c_api(dnnl_post_ops_get_params_sum(list, index, &scale, &zero, &type),
                            "a post-operation");
    return fmt::format("post_operations.append_sum({:.9g}, {});", scale, zero);
  }
  throw Error(Error::Kind::kUser,
              fmt::format("no reproducer can be written for a fused {}; fused eltwise, binary and "
                          "sum are supported",
                          dnnl_prim_kind2str(kind)));
}

std::string attributes_text(const PrimitiveDescription& description, bool deterministic) {
  const_dnnl_primitive_attr_t attributes = description.attributes();
  dnnl_fpmath_mode_t mode = dnnl_fpmath_mode_strict;
  dnnl::error::wrap_c_api(dnnl_primitive_attr_get_fpmath_mode(attributes, &mode), "the math mode");
  std::string text =
      "    dnnl::primitive_attr attributes;\n"
      "    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);\n";
  text += fmt::format("    attributes.set_fpmath_mode(dnnl::fpmath_mode::{});\n",
                      dnnl_fpmath_mode2str(mode));
  if (deterministic) {
    text += "    attributes.set_deterministic(true);  // since oneDNN 3.4\n";
  }
  const_dnnl_post_ops_t list = nullptr;
  dnnl::error::wrap_c_api(dnnl_primitive_attr_get_post_ops(attributes, &list), "post-operations");
  const int count = dnnl_post_ops_len(list);
  if (count > 0) {
    text += "    dnnl::post_ops post_operations;\n";
    for (int index = 0; index < count; ++index) {
      text += "    " + post_operation(list, index, description) + "\n";
    }
    text += "    attributes.set_post_ops(post_operations);\n";
  }
  return text;
}

}  // namespace

std::string class_text(const dnnl::primitive& primitive) {
  const PrimitiveDescription description(primitive, PrimitiveDescription::LeftToLibrary{});
  return fmt::format("dnnl::{}",
                     description.is_backward() ? gradient_text(description).name
                                               : std::string(kind_of(description).name));
}

std::string primitive_text(const dnnl::primitive& primitive,
                           bool deterministic,
                           PrimitiveDescription::LeftToLibrary left) {
  const PrimitiveDescription description(primitive, left);
  PrimitiveDescription::GradientText made;
  if (description.is_backward()) {
    made = gradient_text(description);
  } else {
    const Kind& kind = kind_of(description);
    made = {std::string(kind.name), kind.arguments(description)};
  }
  return fmt::format(
      "{}    auto description = choose({}, [&]([[maybe_unused]] bool free) {{\n"
      "      return dnnl::{}::primitive_desc(engine, {}, attributes);\n    }});\n",
      attributes_text(description, deterministic),
      cpp_literal(description.implementation()),
      made.name,
      made.arguments);
}

std::string argument_text(int index) {
  constexpr int kPostOperations = DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE;
  if (index >= DNNL_ARG_MULTIPLE_SRC && index < DNNL_ARG_MULTIPLE_DST) {
    return fmt::format("DNNL_ARG_MULTIPLE_SRC + {}", index - DNNL_ARG_MULTIPLE_SRC);
  }
  if (index >= kPostOperations) {
    return fmt::format("DNNL_ARG_ATTR_MULTIPLE_POST_OP({}) | {}",
                       index / kPostOperations - 1,
                       argument_text(index % kPostOperations));
  }
  switch (index) {
    case DNNL_ARG_SRC_0:
      return "DNNL_ARG_SRC";
    case DNNL_ARG_SRC_1:
      return "DNNL_ARG_SRC_1";
    case DNNL_ARG_WEIGHTS:
      return "DNNL_ARG_WEIGHTS";
    case DNNL_ARG_BIAS:
      return "DNNL_ARG_BIAS";
    case DNNL_ARG_DST:
      return "DNNL_ARG_DST";
    case DNNL_ARG_MEAN:
      return "DNNL_ARG_MEAN";
    case DNNL_ARG_VARIANCE:
      return "DNNL_ARG_VARIANCE";
    case DNNL_ARG_SCALE:
      return "DNNL_ARG_SCALE";
    case DNNL_ARG_SHIFT:
      return "DNNL_ARG_SHIFT";
    case DNNL_ARG_WORKSPACE:
      return "DNNL_ARG_WORKSPACE";
    case DNNL_ARG_DIFF_SRC:
      return "DNNL_ARG_DIFF_SRC";
    case DNNL_ARG_DIFF_DST:
      return "DNNL_ARG_DIFF_DST";
    case DNNL_ARG_DIFF_WEIGHTS:
      return "DNNL_ARG_DIFF_WEIGHTS";
    case DNNL_ARG_DIFF_BIAS:
      return "DNNL_ARG_DIFF_BIAS";
    case DNNL_ARG_DIFF_SCALE:
      return "DNNL_ARG_DIFF_SCALE";
    case DNNL_ARG_DIFF_SHIFT:
      return "DNNL_ARG_DIFF_SHIFT";
    default:
      return std::to_string(index);
  }
}

}  // namespace plumb::onednn
