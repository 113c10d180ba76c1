// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/analyze/qualification.hpp"

namespace plumb {

/// Names what the texts of a layer's variants say of a change of its time: instruction set, then
/// family, then implementation; else the same implementation is slower.
[[nodiscard]] Cause implementation_cause(const std::string& baseline_variant,
                                         const std::string& candidate_variant);

/// Lists what an attribution says: shares of |delta|, with the sign of the change; layers from two
/// standard errors on, then reorders, layers that one side alone executes, and the unexplained.
[[nodiscard]] std::vector<Cause> causes_of(const ModelAttribution& attribution);

/// Gathers layers by what made them slower: one cause is one finding, however many layers it shows
/// in.
class FindingGroups {
 public:
  /// Adds one layer; the evidence of a cause's first layer stands for all.
  void add(const Cause& cause,
           const std::string& layer,
           double delta_seconds,
           const std::vector<std::string>& models);
  /// Returns the findings, the one that cost most time first.
  [[nodiscard]] std::vector<QualificationFinding> findings() const;

 private:
  std::map<std::string, QualificationFinding> by_cause_;
};

}  // namespace plumb
