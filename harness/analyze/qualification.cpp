// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/qualification.hpp"

namespace plumb {

std::string_view to_text(QualificationVerdict verdict) {
  switch (verdict) {
    case QualificationVerdict::kApprove:
      return "approve";
    case QualificationVerdict::kApproveWithExceptions:
      return "approve_with_exceptions";
    case QualificationVerdict::kReject:
      return "reject";
    case QualificationVerdict::kNotEnoughEvidence:
      break;
  }
  return "not_enough_evidence";
}

std::string_view to_text(BoundChange change) {
  switch (change) {
    case BoundChange::kCapabilityLost:
      return "capability_lost";
    case BoundChange::kChoiceOnly:
      return "choice_only";
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
    case ReplayFinding::kNotTested:
      break;
  }
  return "not_tested";
}

std::string_view to_text(CriterionState state) {
  switch (state) {
    case CriterionState::kMet:
      return "met";
    case CriterionState::kFailed:
      return "failed";
    case CriterionState::kWaived:
      return "waived";
    case CriterionState::kNotMeasured:
      return "not measured";
    case CriterionState::kOpen:
      break;
  }
  return "open";
}

}  // namespace plumb
