// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/qualification_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "harness/analyze/implementation_name.hpp"

namespace plumb {
namespace {

constexpr double kShownFrom = 2.0;  // standard errors from which a term of a model is a cause

bool worse(const QualifiedMetric& metric) {
  return metric.test.verdict == ComparisonVerdict::kRegressed ||
         metric.test.verdict == ComparisonVerdict::kBroken;
}

std::string from_to(const std::string& before, const std::string& after) {
  return fmt::format("{} → {}", before.empty() ? "none" : before, after.empty() ? "none" : after);
}

/// Names what the variants' names say; the first is what groups layers.
Cause named_cause(const QualifiedMetric& layer) {
  const ImplementationName before = implementation_name(layer.baseline_variant);
  const ImplementationName after = implementation_name(layer.candidate_variant);
  const std::string evidence = from_to(layer.baseline_variant, layer.candidate_variant);
  if (layer.test.verdict == ComparisonVerdict::kBroken) {
    return {layer.test.reason, 1.0, evidence};
  }
  if (before.instruction_set != after.instruction_set) {
    return {"instruction set changed: " + from_to(before.instruction_set, after.instruction_set),
            1.0,
            evidence};
  }
  if (before.family != after.family) {
    return {
        "implementation family changed: " + from_to(before.family, after.family), 1.0, evidence};
  }
  if (layer.baseline_variant != layer.candidate_variant) {
    return {"implementation changed within the family " + before.family, 1.0, evidence};
  }
  if (layer.replay.finding == ReplayFinding::kNotSeenAgain) {
    return {"slower in the rounds, and not when tried again", 1.0, layer.baseline_variant};
  }
  return {"the same implementation is slower: " + before.family, 1.0, layer.baseline_variant};
}

void name_layer(QualifiedMetric& layer) {
  layer.test.causes = {named_cause(layer)};
  const CrossReplay& replay = layer.replay;
  const auto add = [&](const char* cause) {
    layer.test.causes.push_back({cause, 1.0, replay.evidence});
  };
  switch (replay.finding) {
    case ReplayFinding::kHeuristicChanged:
      add("heuristic changed");
      break;
    case ReplayFinding::kKernelChanged:
      add("kernel changed");
      break;
    case ReplayFinding::kRemoved:
      add("implementation removed");
      break;
    case ReplayFinding::kNotSeenAgain:
    case ReplayFinding::kNotTested:
      break;
  }
  if (replay.bound == BoundChange::kCapabilityLost) {
    add("capability lost");
  } else if (replay.bound == BoundChange::kChoiceOnly) {
    add("choice only");
  }
}

/// Lists what an attribution says: shares of |delta|, with the sign of the change.
std::vector<Cause> causes_of(const ModelAttribution& attribution) {
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

}  // namespace

void add_findings(Qualification& qualification) {
  std::map<std::string, QualificationFinding> findings;
  for (QualifiedMetric& layer : qualification.layers) {
    if (!worse(layer)) {
      continue;
    }
    name_layer(layer);
    const Cause& first = layer.test.causes.front();
    QualificationFinding& finding = findings[first.cause];
    finding.cause = first.cause;
    if (finding.layers.empty()) {
      finding.evidence = first.evidence;
      if (!layer.replay.evidence.empty()) {
        finding.evidence += "; " + layer.replay.evidence;
      }
    }
    finding.layers.push_back(layer.subject);
    finding.delta_seconds += layer.test.delta;
    for (const std::string& model : layer.models) {
      if (std::find(finding.models.begin(), finding.models.end(), model) == finding.models.end()) {
        finding.models.push_back(model);
      }
    }
  }
  for (QualifiedMetric& model : qualification.models) {
    for (const ModelAttribution& attribution : qualification.attributions) {
      const bool changed = model.test.verdict == ComparisonVerdict::kRegressed ||
                           model.test.verdict == ComparisonVerdict::kImproved;
      if (changed && attribution.subject == model.subject && attribution.mode == model.mode) {
        model.test.causes = causes_of(attribution);
      }
    }
  }
  qualification.findings.clear();
  for (auto& [cause, finding] : findings) {
    qualification.findings.push_back(std::move(finding));
  }
  std::stable_sort(
      qualification.findings.begin(),
      qualification.findings.end(),
      [](const auto& one, const auto& two) { return one.delta_seconds > two.delta_seconds; });
}

}  // namespace plumb
