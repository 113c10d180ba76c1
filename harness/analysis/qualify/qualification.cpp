// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/qualify/qualification.hpp"

namespace plumb::analysis {

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

}  // namespace plumb::analysis
