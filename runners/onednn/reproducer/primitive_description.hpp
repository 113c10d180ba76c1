// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

namespace plumb::onednn {

/// Writes the C++ expression that makes a memory descriptor, by the functions of main.cpp.in.
///
/// It gives strides where nothing is blocked, else the name of the library's format with these
/// blocks. Where the library has no name for them (prepacked weights), the layout is left to the
/// primitive.
[[nodiscard]] std::string descriptor_text(const dnnl::memory::desc& descriptor);

/// Writes extents as a C++ braced list: "{1, 64, 56, 56}".
[[nodiscard]] std::string dims_text(const dnnl::memory::dims& dims);

/// Names an element type as the C++ interface does: "f32".
[[nodiscard]] std::string type_text(dnnl::memory::data_type type);

/// Description of a primitive: what it was made of, read from the library's own descriptor.
class PrimitiveDescription {
 public:
  /// Layouts of a primitive that were left to the library. Some implementations exist only if they
  /// are asked for in that way.
  struct LeftToLibrary {
    bool weights = false;
    bool activations = false;
  };

  /// C++ text that asks for a gradient's primitive. It consists of the class and of the arguments
  /// between engine and attributes, among them the descriptor of the layer itself.
  struct GradientText {
    std::string name;
    std::string arguments;
  };

  PrimitiveDescription(const dnnl::primitive& primitive, LeftToLibrary left) : left_(left) {
    dnnl::error::wrap_c_api(dnnl_primitive_get_primitive_desc(primitive.get(), &handle_),
                            "a primitive without a descriptor");
  }

  template <typename Value>
  [[nodiscard]] Value value(dnnl_query_t what) const {
    Value value{};
    dnnl::error::wrap_c_api(dnnl_primitive_desc_query(handle_, what, 0, &value),
                            "the library does not tell what a primitive was made of");
    return value;
  }

  /// Writes extents of the primitive, such as strides, pads or a window.
  [[nodiscard]] std::string extents(dnnl_query_t what) const {
    const auto* const dims = value<const dnnl_dims_t*>(what);
    const int count = memory(has(DNNL_ARG_SRC) ? DNNL_ARG_SRC : DNNL_ARG_DIFF_SRC).get_ndims() - 2;
    return dims_text({*dims, *dims + std::max(count, 0)});
  }

  [[nodiscard]] dnnl::memory::desc memory(int argument) const {
    const_dnnl_memory_desc_t found =
        dnnl_primitive_desc_query_md(handle_, dnnl_query_exec_arg_md, argument);
    dnnl_memory_desc_t copy = nullptr;
    if (found != nullptr) {
      dnnl::error::wrap_c_api(dnnl_memory_desc_clone(&copy, found), "a descriptor without a copy");
    }
    return copy != nullptr ? dnnl::memory::desc(copy) : dnnl::memory::desc();
  }

  [[nodiscard]] bool has(int argument) const {
    const dnnl::memory::desc found = memory(argument);
    return found.get() != nullptr && found.get_ndims() > 0;
  }
  [[nodiscard]] std::string argument(int index) const {
    const std::string text = descriptor_text(memory(index));
    const bool is_weights = index == DNNL_ARG_WEIGHTS || index == DNNL_ARG_DIFF_WEIGHTS;
    const bool is_activation = index == DNNL_ARG_SRC || index == DNNL_ARG_DST ||
                               index == DNNL_ARG_DIFF_SRC || index == DNNL_ARG_DIFF_DST;
    const bool left = is_weights ? left_.weights : left_.activations && is_activation;
    return left ? fmt::format("or_any(free, {})", text) : text;
  }
  /// Writes the extents and type of an argument, with its layout left to the library.
  [[nodiscard]] std::string any(int index) const {
    const dnnl::memory::desc found = memory(index);
    return fmt::format(
        "any({}, type::{})", dims_text(found.get_dims()), type_text(found.get_data_type()));
  }
  [[nodiscard]] std::string bias() const {
    return has(DNNL_ARG_BIAS) ? argument(DNNL_ARG_BIAS) + ", " : "";
  }
  /// Writes the descriptors of all first operands of a concat or a sum.
  [[nodiscard]] std::string sources(int* count = nullptr) const {
    std::vector<std::string> all;
    while (has(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(all.size()))) {
      all.push_back(argument(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(all.size())));
    }
    if (count != nullptr) {
      *count = static_cast<int>(all.size());
    }
    return fmt::format("{{{}}}", fmt::join(all, ", "));
  }
  [[nodiscard]] std::string propagation() const {
    return fmt::format("dnnl::prop_kind::{}",
                       dnnl_prop_kind2str(value<dnnl_prop_kind_t>(dnnl_query_prop_kind)));
  }
  [[nodiscard]] std::string algorithm() const {
    return fmt::format("dnnl::algorithm::{}",
                       dnnl_alg_kind2str(value<dnnl_alg_kind_t>(dnnl_query_alg_kind)));
  }
  [[nodiscard]] std::string number(dnnl_query_t what) const {
    return fmt::format("{:.9g}", value<float>(what));
  }
  [[nodiscard]] std::string flags() const {
    return fmt::format("static_cast<dnnl::normalization_flags>({})",
                       value<unsigned>(dnnl_query_flags));
  }
  [[nodiscard]] dnnl_primitive_kind_t kind() const {
    return value<dnnl_primitive_kind_t>(dnnl_query_primitive_kind);
  }
  /// Returns whether the primitive computes a gradient.
  [[nodiscard]] bool is_backward() const {
    dnnl_prop_kind_t propagation = dnnl_prop_kind_undef;
    const bool known =
        dnnl_primitive_desc_query(handle_, dnnl_query_prop_kind, 0, &propagation) == dnnl_success;
    return known && (propagation == dnnl_backward || propagation == dnnl_backward_data ||
                     propagation == dnnl_backward_weights || propagation == dnnl_backward_bias);
  }
  [[nodiscard]] std::string implementation() const {
    return value<const char*>(dnnl_query_impl_info_str);
  }
  [[nodiscard]] const_dnnl_primitive_attr_t attributes() const {
    const_dnnl_primitive_attr_t found = nullptr;
    dnnl::error::wrap_c_api(dnnl_primitive_desc_get_attr(handle_, &found),
                            "a primitive without attributes");
    return found;
  }

 private:
  const_dnnl_primitive_desc_t handle_ = nullptr;
  LeftToLibrary left_;
};

/// Writes the text of a gradient. Throws Error{kUser} for a kind that is not covered.
[[nodiscard]] PrimitiveDescription::GradientText gradient_text(
    const PrimitiveDescription& description);

/// Writes the C++ statements that describe a primitive as it was made.
///
/// They define `attributes` and then `description`. The layouts that the library chose are asked
/// for by name. Where that finds nothing, they are left to the library as they were. Throws
/// Error{kUser} for a kind that is not covered, with the kinds that are.
[[nodiscard]] std::string primitive_text(const dnnl::primitive& primitive,
                                         bool deterministic,
                                         PrimitiveDescription::LeftToLibrary left);

/// Names the C++ class of a primitive, such as "dnnl::matmul". Throws as primitive_text() does.
[[nodiscard]] std::string class_text(const dnnl::primitive& primitive);

/// Names an argument as the C interface does, such as "DNNL_ARG_SRC"; a number if it has no name.
[[nodiscard]] std::string argument_text(int index);

}  // namespace plumb::onednn
