// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/finding.hpp"

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

}  // namespace plumb::analysis
