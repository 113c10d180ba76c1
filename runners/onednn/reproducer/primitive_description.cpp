// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/reproducer/primitive_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <optional>
#include <string_view>

#include "harness/base/error.hpp"

namespace plumb::onednn {
namespace {

/// Writes the library's name of a blocked format, or nothing if it has none. A format newer than
/// the headers here becomes its number, because the reproducer may be compiled with them.
std::optional<std::string> format_text(const dnnl::memory::desc& descriptor) {
  const dnnl::memory::dims dims = descriptor.get_dims();
  for (int number = dnnl_format_tag_any + 1;; ++number) {
    const auto tag = static_cast<dnnl_format_tag_t>(number);
    const std::string_view name = dnnl_fmt_tag2str(tag);
    if (name.starts_with("unknown")) {
      return std::nullopt;
    }
    dnnl_memory_desc_t made = nullptr;
    if (dnnl_memory_desc_create_with_tag(
            &made,
            static_cast<int>(dims.size()),
            dims.data(),
            dnnl_data_type_t(static_cast<int>(descriptor.get_data_type())),
            tag) != dnnl_success) {
      continue;
    }
    if (dnnl::memory::desc(made) == descriptor) {
      return number < dnnl_format_tag_last
                 ? fmt::format("dnnl_{}", name)
                 : fmt::format("static_cast<dnnl_format_tag_t>({} /* dnnl_{} */)", number, name);
    }
  }
}

}  // namespace

std::string dims_text(const dnnl::memory::dims& dims) {
  return fmt::format("{{{}}}", fmt::join(dims, ", "));
}

std::string type_text(dnnl::memory::data_type type) {
  return dnnl_dt2str(static_cast<dnnl_data_type_t>(static_cast<int>(type)));
}

std::string descriptor_text(const dnnl::memory::desc& descriptor) {
  const std::string dims = dims_text(descriptor.get_dims());
  const std::string type = "type::" + type_text(descriptor.get_data_type());
  const bool blocked = descriptor.get_format_kind() == dnnl::memory::format_kind::blocked &&
                       descriptor.get_submemory_offset() == 0;
  if (blocked && descriptor.get_inner_nblks() == 0) {
    const dnnl::memory::desc strided(
        descriptor.get_dims(), descriptor.get_data_type(), descriptor.get_strides());
    if (strided == descriptor) {
      return fmt::format("strided({}, {}, {})", dims, type, dims_text(descriptor.get_strides()));
    }
  }
  const std::optional<std::string> format = blocked ? format_text(descriptor) : std::nullopt;
  if (format) {
    return fmt::format("blocked({}, {}, {})", dims, type, *format);
  }
  return fmt::format("any({}, {})", dims, type);
}

namespace {

constexpr std::string_view kTraining = "dnnl::prop_kind::forward_training";

/// Writes the descriptor of the layer itself.
std::string forward(std::string_view name, const std::string& arguments) {
  return fmt::format("dnnl::{}::primitive_desc(engine, {}, attributes)", name, arguments);
}

std::string window(const PrimitiveDescription& d) {
  return fmt::format("{}, {}, {}, {}",
                     d.extents(dnnl_query_strides),
                     d.extents(dnnl_query_dilations),
                     d.extents(dnnl_query_padding_l),
                     d.extents(dnnl_query_padding_r));
}

PrimitiveDescription::GradientText convolution_data(const PrimitiveDescription& d) {
  const std::string itself = forward("convolution_forward",
                                     fmt::format("{}, {}, {}, {}, {}, {}",
                                                 kTraining,
                                                 d.algorithm(),
                                                 d.any(DNNL_ARG_DIFF_SRC),
                                                 d.any(DNNL_ARG_WEIGHTS),
                                                 d.any(DNNL_ARG_DIFF_DST),
                                                 window(d)));
  return {"convolution_backward_data",
          fmt::format("{}, {}, {}, {}, {}, {}",
                      d.algorithm(),
                      d.argument(DNNL_ARG_DIFF_SRC),
                      d.argument(DNNL_ARG_WEIGHTS),
                      d.argument(DNNL_ARG_DIFF_DST),
                      window(d),
                      itself)};
}

PrimitiveDescription::GradientText convolution_weights(const PrimitiveDescription& d) {
  const bool biased = d.has(DNNL_ARG_DIFF_BIAS);
  const std::string itself = forward("convolution_forward",
                                     fmt::format("{}, {}, {}, {}, {}{}, {}",
                                                 kTraining,
                                                 d.algorithm(),
                                                 d.any(DNNL_ARG_SRC),
                                                 d.any(DNNL_ARG_DIFF_WEIGHTS),
                                                 biased ? d.any(DNNL_ARG_DIFF_BIAS) + ", " : "",
                                                 d.any(DNNL_ARG_DIFF_DST),
                                                 window(d)));
  return {"convolution_backward_weights",
          fmt::format("{}, {}, {}, {}{}, {}, {}",
                      d.algorithm(),
                      d.argument(DNNL_ARG_SRC),
                      d.argument(DNNL_ARG_DIFF_WEIGHTS),
                      biased ? d.argument(DNNL_ARG_DIFF_BIAS) + ", " : "",
                      d.argument(DNNL_ARG_DIFF_DST),
                      window(d),
                      itself)};
}

PrimitiveDescription::GradientText inner_product_weights(const PrimitiveDescription& d) {
  const bool biased = d.has(DNNL_ARG_DIFF_BIAS);
  const std::string itself = forward("inner_product_forward",
                                     fmt::format("{}, {}, {}, {}{}",
                                                 kTraining,
                                                 d.any(DNNL_ARG_SRC),
                                                 d.any(DNNL_ARG_DIFF_WEIGHTS),
                                                 biased ? d.any(DNNL_ARG_DIFF_BIAS) + ", " : "",
                                                 d.any(DNNL_ARG_DIFF_DST)));
  return {"inner_product_backward_weights",
          fmt::format("{}, {}, {}{}, {}",
                      d.argument(DNNL_ARG_SRC),
                      d.argument(DNNL_ARG_DIFF_WEIGHTS),
                      biased ? d.argument(DNNL_ARG_DIFF_BIAS) + ", " : "",
                      d.argument(DNNL_ARG_DIFF_DST),
                      itself)};
}

PrimitiveDescription::GradientText pooling(const PrimitiveDescription& d) {
  const std::string rest = fmt::format("{}, {}, {}, {}, {}",
                                       d.extents(dnnl_query_strides),
                                       d.extents(dnnl_query_kernel),
                                       d.extents(dnnl_query_dilations),
                                       d.extents(dnnl_query_padding_l),
                                       d.extents(dnnl_query_padding_r));
  const std::string both = d.argument(DNNL_ARG_DIFF_SRC) + ", " + d.argument(DNNL_ARG_DIFF_DST);
  return {
      "pooling_backward",
      fmt::format("{}, {}, {}, {}",
                  d.algorithm(),
                  both,
                  rest,
                  forward("pooling_forward",
                          fmt::format("{}, {}, {}, {}", kTraining, d.algorithm(), both, rest)))};
}

PrimitiveDescription::GradientText softmax(const PrimitiveDescription& d) {
  const std::string data = d.argument(DNNL_ARG_DST);
  const int axis = d.value<int>(dnnl_query_axis_s32);
  return {
      "softmax_backward",
      fmt::format(
          "{}, {}, {}, {}, {}, {}",
          d.algorithm(),
          d.argument(DNNL_ARG_DIFF_SRC),
          d.argument(DNNL_ARG_DIFF_DST),
          data,
          axis,
          forward("softmax_forward",
                  fmt::format("{}, {}, {}, {}, {}", kTraining, d.algorithm(), data, data, axis)))};
}

PrimitiveDescription::GradientText eltwise(const PrimitiveDescription& d) {
  const std::string data = d.argument(DNNL_ARG_SRC);
  const std::string rest =
      fmt::format("{}, {}", d.number(dnnl_query_alpha_f32), d.number(dnnl_query_beta_f32));
  return {
      "eltwise_backward",
      fmt::format(
          "{}, {}, {}, {}, {}, {}",
          d.algorithm(),
          d.argument(DNNL_ARG_DIFF_SRC),
          d.argument(DNNL_ARG_DIFF_DST),
          data,
          rest,
          forward("eltwise_forward",
                  fmt::format("{}, {}, {}, {}, {}", kTraining, d.algorithm(), data, data, rest)))};
}

PrimitiveDescription::GradientText normalization(const PrimitiveDescription& d,
                                                 std::string_view name) {
  const std::string data = d.argument(DNNL_ARG_SRC);
  const std::string rest = fmt::format("{}F, {}", d.number(dnnl_query_epsilon_f32), d.flags());
  return {fmt::format("{}_backward", name),
          fmt::format("{}, {}, {}, {}, {}, {}",
                      d.propagation(),
                      d.argument(DNNL_ARG_DIFF_SRC),
                      d.argument(DNNL_ARG_DIFF_DST),
                      data,
                      rest,
                      forward(fmt::format("{}_forward", name),
                              fmt::format("{}, {}, {}, {}", kTraining, data, data, rest)))};
}

}  // namespace

PrimitiveDescription::GradientText gradient_text(const PrimitiveDescription& description) {
  const bool by_weights =
      description.value<dnnl_prop_kind_t>(dnnl_query_prop_kind) == dnnl_backward_weights;
  switch (description.kind()) {
    case dnnl_convolution:
      return by_weights ? convolution_weights(description) : convolution_data(description);
    case dnnl_inner_product:
      if (by_weights) {
        return inner_product_weights(description);
      }
      break;
    case dnnl_pooling:
      return pooling(description);
    case dnnl_softmax:
      return softmax(description);
    case dnnl_eltwise:
      return eltwise(description);
    case dnnl_batch_normalization:
      return normalization(description, "batch_normalization");
    case dnnl_layer_normalization:
      return normalization(description, "layer_normalization");
    default:
      break;
  }
  throw Error(Error::Kind::kUser,
              fmt::format("no reproducer can be written for a gradient of the kind {}",
                          dnnl_prim_kind2str(description.kind())));
}

}  // namespace plumb::onednn
