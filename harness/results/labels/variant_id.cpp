// SPDX-License-Identifier: Apache-2.0
#include "harness/results/labels/variant_id.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "harness/base/error.hpp"

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

namespace {

constexpr std::string_view kCapFact = "measure.workspace_cap_bytes";
constexpr std::string_view kPolicyFact = "measure.batch_policy";
constexpr std::size_t kMaxParts = 64;  // different ones

/// Takes a positive number and the character behind it from the front of a text.
std::optional<std::int64_t> take_number(std::string_view& text, char behind) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || number < 1 || length == text.size() || text[length] != behind) {
    return std::nullopt;
  }
  text.remove_prefix(length + 1);
  return number;
}

}  // namespace

std::string divided_variant(const std::vector<VariantId::Parts>& parts) {
  std::string text = fmt::format("impl={};parts=", kDividedBatch);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += fmt::format(
        "{}{}*{}[{}]", i == 0 ? "" : "+", parts[i].count, parts[i].batch, parts[i].variant);
  }
  return text;
}

std::optional<std::vector<VariantId::Parts>> divided_parts(std::string_view variant) {
  const std::string_view list = VariantId(variant).field("parts");
  if (VariantId(variant).implementation() != kDividedBatch || list.empty() ||
      !variant.ends_with(list)) {
    return std::nullopt;
  }
  variant = list;
  std::vector<VariantId::Parts> parts;
  while (parts.size() < kMaxParts) {
    const auto count = take_number(variant, '*');
    const auto batch = count ? take_number(variant, '[') : std::nullopt;
    const std::size_t end = variant.find(']');
    if (!batch || end == std::string_view::npos) {
      return std::nullopt;
    }
    parts.push_back({*count, *batch, std::string(variant.substr(0, end))});
    variant.remove_prefix(end + 1);
    if (variant.empty()) {
      return parts;
    }
    if (variant.front() != '+') {
      return std::nullopt;
    }
    variant.remove_prefix(1);
  }
  return std::nullopt;
}

std::string_view to_text(VariantId::DivisionRule::Policy policy) {
  switch (policy) {
    case VariantId::DivisionRule::Policy::kUndivided:
      return "undivided";
    case VariantId::DivisionRule::Policy::kPowersOfTwo:
      return "powers_of_two";
    case VariantId::DivisionRule::Policy::kAll:
      return "all";
  }
  PLUMB_CHECK(false);
}

std::optional<VariantId::DivisionRule::Policy> parse_batch_policy(std::string_view text) {
  const auto* const found = std::find_if(
      kBatchPolicies.begin(), kBatchPolicies.end(), [&](VariantId::DivisionRule::Policy each) {
        return to_text(each) == text;
      });
  return found == kBatchPolicies.end() ? std::nullopt : std::optional(*found);
}

void add_division_rule(const VariantId::DivisionRule& rule, Environment& environment) {
  environment.facts.insert_or_assign(std::string(kCapFact),
                                     std::to_string(rule.workspace_cap.value));
  environment.facts.insert_or_assign(std::string(kPolicyFact), std::string(to_text(rule.policy)));
}

std::optional<VariantId::DivisionRule> division_rule_of(const Environment& environment) {
  const auto cap = environment.facts.find(std::string(kCapFact));
  if (cap == environment.facts.end()) {
    return std::nullopt;
  }
  VariantId::DivisionRule rule;
  const std::string& text = cap->second;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), rule.workspace_cap.value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  const auto policy = environment.facts.find(std::string(kPolicyFact));
  if (policy != environment.facts.end()) {
    rule.policy = parse_batch_policy(policy->second).value_or(rule.policy);
  }
  return rule;
}

}  // namespace plumb::results
