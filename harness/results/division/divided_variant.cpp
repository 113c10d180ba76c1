// SPDX-License-Identifier: Apache-2.0
#include "harness/results/division/divided_variant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "harness/base/error.hpp"
#include "harness/results/labels/variant_id.hpp"

namespace plumb::results {
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

std::string divided_variant(const std::vector<BatchParts>& parts) {
  std::string text = fmt::format("impl={};parts=", kDividedBatch);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += fmt::format(
        "{}{}*{}[{}]", i == 0 ? "" : "+", parts[i].count, parts[i].batch, parts[i].variant);
  }
  return text;
}

std::optional<std::vector<BatchParts>> divided_parts(std::string_view variant) {
  const std::string_view list = VariantId(variant).field("parts");
  if (VariantId(variant).implementation() != kDividedBatch || list.empty() ||
      !variant.ends_with(list)) {
    return std::nullopt;
  }
  variant = list;
  std::vector<BatchParts> parts;
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

std::string_view to_text(DivisionPolicy policy) {
  switch (policy) {
    case DivisionPolicy::kUndivided:
      return "undivided";
    case DivisionPolicy::kPowersOfTwo:
      return "powers_of_two";
    case DivisionPolicy::kAll:
      return "all";
  }
  PLUMB_CHECK(false);
}

std::optional<DivisionPolicy> parse_batch_policy(std::string_view text) {
  const auto* const found = std::find_if(kBatchPolicies.begin(),
                                         kBatchPolicies.end(),
                                         [&](DivisionPolicy each) { return to_text(each) == text; });
  return found == kBatchPolicies.end() ? std::nullopt : std::optional(*found);
}

void add_division_rule(const DivisionRule& rule, Environment& environment) {
  environment.facts.insert_or_assign(std::string(kCapFact),
                                     std::to_string(rule.workspace_cap.value));
  environment.facts.insert_or_assign(std::string(kPolicyFact), std::string(to_text(rule.policy)));
}

std::optional<DivisionRule> division_rule_of(const Environment& environment) {
  const auto cap = environment.facts.find(std::string(kCapFact));
  if (cap == environment.facts.end()) {
    return std::nullopt;
  }
  DivisionRule rule;
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
