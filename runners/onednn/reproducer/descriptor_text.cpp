// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/reproducer/descriptor_text.hpp"

#include <fmt/ranges.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <optional>
#include <string_view>

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

}  // namespace plumb::onednn
