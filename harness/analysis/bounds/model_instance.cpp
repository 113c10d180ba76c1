// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/model_instance.hpp"

#include <fmt/format.h>

namespace plumb::analysis {

std::string to_text(const ModelInstance& instance, std::string_view separator) {
  std::string text = fmt::format(
      "{}{}batch {}{}{}", instance.model, separator, instance.batch, separator, instance.dtype);
  for (const auto& [name, extent] : instance.dims) {
    text += fmt::format("{}{} {}", separator, name, extent);
  }
  return text;
}

std::string subject_of(const ModelInstance& instance) {
  std::string text = fmt::format("{}|{}|{}", instance.model, instance.batch, instance.dtype);
  for (const auto& [name, extent] : instance.dims) {
    text += fmt::format("|{}={}", name, extent);
  }
  return text;
}

}  // namespace plumb::analysis
