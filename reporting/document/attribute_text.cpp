// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/attribute_text.hpp"

#include <fmt/format.h>

#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kMaxShown = 80;

std::string reading_text(const results::Reading& reading) {
  return reading.n < 2
             ? fmt::format("{:.4g}", reading.median)
             : fmt::format("{:.4g} ({:.4g} to {:.4g})", reading.median, reading.low, reading.high);
}

}  // namespace

std::string attribute_text(const results::Attributes& attributes,
                           const results::Readings& readings) {
  std::string text;
  const auto add = [&text](const std::string& name, const std::string& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " · ", sanitize_utf8(name), value);
  };
  for (const auto& [name, value] : attributes) {
    add(name,
        value.size() <= kMaxShown ? sanitize_utf8(value) : fmt::format("({} bytes)", value.size()));
  }
  for (const auto& [name, reading] : readings) {
    add(name, reading_text(reading));
  }
  return text;
}

}  // namespace plumb::reporting
