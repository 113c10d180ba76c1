// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/finding_groups.hpp"
#include "harness/analysis/qualify/qualification_evidence.hpp"

namespace plumb::analysis {
namespace {

bool worse(const QualifiedMetric& metric) {
  return metric.test.verdict == ComparisonVerdict::kRegressed ||
         metric.test.verdict == ComparisonVerdict::kBroken;
}

/// Returns the cause by which layers are grouped: why one broke, or what the variants' names show.
Cause named_cause(const QualifiedMetric& layer) {
  Cause cause = implementation_cause(layer.baseline_variant, layer.candidate_variant);
  if (layer.test.verdict == ComparisonVerdict::kBroken) {
    cause.cause = layer.test.reason;
  } else if (layer.baseline_variant == layer.candidate_variant &&
             layer.replay.finding == ReplayFinding::kNotSeenAgain) {
    cause.cause = "slower in the rounds, but not when measured again";
  }
  return cause;
}

void name_layer(QualifiedMetric& layer) {
  layer.test.causes = {named_cause(layer)};
  const PinnedVariantCheck& replay = layer.replay;
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
    case ReplayFinding::kUndecided:
    case ReplayFinding::kNotTested:
      break;
  }
  if (replay.bound == BoundChange::kCapabilityLost) {
    add("capability lost");
  } else if (replay.bound == BoundChange::kChoiceOnly) {
    add("choice only");
  }
}

}  // namespace

void add_findings(Qualification& qualification) {
  FindingGroups groups;
  for (QualifiedMetric& layer : qualification.layers) {
    if (!worse(layer)) {
      continue;
    }
    name_layer(layer);
    Cause cause = layer.test.causes.front();
    if (!layer.replay.evidence.empty()) {
      cause.evidence += "; " + layer.replay.evidence;
    }
    groups.add(cause, layer.subject, layer.test.delta, layer.models);
  }
  for (QualifiedMetric& model : qualification.models) {
    for (const ModelAttribution& attribution : qualification.attributions) {
      const bool changed = model.test.verdict == ComparisonVerdict::kRegressed ||
                           model.test.verdict == ComparisonVerdict::kImproved;
      if (changed && attribution.subject == model.subject && attribution.mode == model.mode) {
        model.test.causes = find_causes(attribution);
      }
    }
  }
  qualification.findings = groups.findings();
}

}  // namespace plumb::analysis
