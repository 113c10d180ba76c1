// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/shapes/rule_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace plumb::model {
namespace {

constexpr std::size_t kMaxEquation = 4096;

/// Returns whether a term is letters around at most one ellipsis.
bool is_term(std::string_view term) {
  if (const std::size_t dots = term.find("..."); dots != std::string_view::npos) {
    return is_term(term.substr(0, dots)) && term.find('.', dots + 3) == std::string_view::npos &&
           is_term(term.substr(dots + 3));
  }
  return std::all_of(term.begin(), term.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

/// Checks the grammar of an Einsum's equation: terms with commas between, and perhaps an arrow and
/// one more term. The library's rule waits for ever at any other character.
std::optional<std::string> refuse_einsum(const NodeView& node) {
  std::string equation = node.word("equation", "");
  if (equation.size() > kMaxEquation) {
    return fmt::format(
        "an equation of {} characters, where at most {} are read", equation.size(), kMaxEquation);
  }
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const std::size_t arrow = equation.find("->");
  std::string_view left = std::string_view(equation).substr(0, arrow);
  bool valid = arrow == std::string::npos || is_term(std::string_view(equation).substr(arrow + 2));
  while (valid) {
    const std::size_t comma = left.find(',');
    valid = is_term(left.substr(0, comma));
    if (comma == std::string_view::npos) {
      break;
    }
    left.remove_prefix(comma + 1);
  }
  if (valid) {
    return std::nullopt;
  }
  return fmt::format(
      "the equation '{}' is not letters, commas, '->' and at most one '...' in a term",
      node.word("equation", "").substr(0, 200));
}

/// Checks that a Split has as many outputs as it says. The library's rule makes room for what it
/// says, and reads what it has.
std::optional<std::string> refuse_split(const NodeView& node) {
  const onnx::AttributeProto* const count = node.attribute("num_outputs");
  if (count == nullptr || count->i() == static_cast<std::int64_t>(node.output_count())) {
    return std::nullopt;
  }
  return fmt::format(
      "num_outputs is {}, and the node has {} outputs", count->i(), node.output_count());
}

}  // namespace

std::optional<std::string> refuse_rule(const NodeView& node) {
  if (node.op() == "Einsum") {
    return refuse_einsum(node);
  }
  if (node.op() == "Split") {
    return refuse_split(node);
  }
  return std::nullopt;
}

}  // namespace plumb::model
