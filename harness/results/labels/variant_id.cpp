// SPDX-License-Identifier: Apache-2.0
#include "harness/results/labels/variant_id.hpp"

#include <cstddef>

namespace plumb::results {

std::string_view VariantId::field(std::string_view name) const {
  std::size_t begin = 0;
  std::size_t depth = 0;
  for (std::size_t i = 0; i <= text_.size(); ++i) {
    const char c = i < text_.size() ? text_[i] : ';';
    depth += c == '[' ? 1U : 0U;
    depth -= c == ']' && depth > 0 ? 1U : 0U;
    if (c != ';' || (depth > 0 && i < text_.size())) {
      continue;
    }
    const std::string_view part = text_.substr(begin, i - begin);
    if (part.size() > name.size() && part.starts_with(name) && part[name.size()] == '=') {
      return part.substr(name.size() + 1);
    }
    begin = i + 1;
  }
  return {};
}

}  // namespace plumb::results
