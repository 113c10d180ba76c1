// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "harness/results/labels/variant_id.hpp"

namespace plumb::analysis {

std::string_view to_text(BoundChange change) {
  switch (change) {
    case BoundChange::kCapabilityLost:
      return "capability_lost";
    case BoundChange::kChoiceOnly:
      return "choice_only";
    case BoundChange::kUndecided:
      return "undecided";
    case BoundChange::kNotTested:
      break;
  }
  return "not_tested";
}

std::string_view to_text(ReplayFinding finding) {
  switch (finding) {
    case ReplayFinding::kHeuristicChanged:
      return "heuristic_changed";
    case ReplayFinding::kKernelChanged:
      return "kernel_changed";
    case ReplayFinding::kRemoved:
      return "removed";
    case ReplayFinding::kNotSeenAgain:
      return "not_seen_again";
    case ReplayFinding::kUndecided:
      return "undecided";
    case ReplayFinding::kNotTested:
      break;
  }
  return "not_tested";
}

namespace {

/// Parts of a name and the families that they indicate. The first part that fits counts.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kFamilies{
    {{"wino", "winograd"},
     {"ref", "reference"},
     {"brg", "brgemm"},
     {"1x1", "jit_1x1"},
     {"_dw", "jit_depthwise"},
     {"gemm", "gemm"},
     {"jit", "jit"},
     {"simple", "simple"},
     {"plumb", "plumb"}}};
constexpr std::string_view kInstructionSets[] = {"avx", "sse", "amx", "sve", "asimd"};

}  // namespace

ImplementationName implementation_name(std::string_view variant) {
  const std::string_view named = results::VariantId(variant).implementation();
  const std::string_view name = named.empty() ? variant : named;
  ImplementationName result;
  std::string_view kernel = name;
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos) {
    const std::string_view last = name.substr(colon + 1);
    if (std::any_of(std::begin(kInstructionSets), std::end(kInstructionSets), [&](auto set) {
          return last.starts_with(set);
        })) {
      result.instruction_set = last;
      kernel = name.substr(0, colon);
    }
  }
  const auto family = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const auto& entry) {
    return kernel.find(entry.first) != std::string_view::npos;
  });
  result.family = family != kFamilies.end() ? family->second : kernel;
  return result;
}

namespace {

constexpr double kShownFrom = 2.0;  // standard errors from which a term of a model is a cause

std::string from_to(const std::string& before, const std::string& after) {
  return fmt::format("{} → {}", before.empty() ? "none" : before, after.empty() ? "none" : after);
}

}  // namespace

Cause implementation_cause(const std::string& baseline_variant,
                           const std::string& candidate_variant) {
  const ImplementationName before = implementation_name(baseline_variant);
  const ImplementationName after = implementation_name(candidate_variant);
  const std::string evidence = from_to(baseline_variant, candidate_variant);
  if (before.instruction_set != after.instruction_set) {
    return {"instruction set changed: " + from_to(before.instruction_set, after.instruction_set),
            1.0,
            evidence};
  }
  if (before.family != after.family) {
    return {
        "implementation family changed: " + from_to(before.family, after.family), 1.0, evidence};
  }
  if (baseline_variant != candidate_variant) {
    return {"implementation changed within the family " + before.family, 1.0, evidence};
  }
  return {"the same implementation is slower: " + before.family, 1.0, baseline_variant};
}

std::vector<Cause> find_causes(const ModelAttribution& attribution) {
  std::vector<Cause> causes;
  const double whole = std::abs(attribution.delta_seconds);
  if (whole == 0.0) {
    return causes;
  }
  const double sign = attribution.delta_seconds > 0.0 ? 1.0 : -1.0;
  for (const ModelAttribution::Term& term : attribution.layers) {
    if (std::abs(term.seconds) > kShownFrom * term.error && sign * term.seconds > 0.0) {
      causes.push_back({"layer " + term.layer,
                        sign * term.seconds / whole,
                        from_to(term.baseline_variant, term.candidate_variant)});
    }
  }
  const auto rest = [&](const char* name, double seconds) {
    if (seconds != 0.0) {
      causes.push_back({name, sign * seconds / whole, fmt::format("{:+.4g} s", seconds)});
    }
  };
  rest("reorders between layouts", attribution.reorder_seconds);
  rest("layers that only one side executes", attribution.unmatched_seconds);
  rest("unexplained", attribution.unexplained_seconds);
  return causes;
}

void FindingGroups::add(const Cause& cause,
                        const std::string& layer,
                        double delta_seconds,
                        const std::vector<std::string>& models) {
  QualificationFinding& finding = by_cause_[cause.cause];
  if (finding.layers.empty()) {
    finding.cause = cause.cause;
    finding.evidence = cause.evidence;
  }
  finding.layers.push_back(layer);
  finding.delta_seconds += delta_seconds;
  for (const std::string& model : models) {
    if (std::find(finding.models.begin(), finding.models.end(), model) == finding.models.end()) {
      finding.models.push_back(model);
    }
  }
}

std::vector<QualificationFinding> FindingGroups::findings() const {
  std::vector<QualificationFinding> result;
  for (const auto& [cause, finding] : by_cause_) {
    result.push_back(finding);
  }
  std::stable_sort(result.begin(), result.end(), [](const auto& one, const auto& two) {
    return one.delta_seconds > two.delta_seconds;
  });
  return result;
}

}  // namespace plumb::analysis
