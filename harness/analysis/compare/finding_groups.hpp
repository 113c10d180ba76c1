// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/analysis/compare/finding.hpp"

namespace plumb::analysis {

/// Returns the cause that the texts of a layer's variants suggest for a change of its time. The
/// first that differs counts: instruction set, family, implementation. If none differs, the same
/// implementation is slower.
[[nodiscard]] Cause implementation_cause(const std::string& baseline_variant,
                                         const std::string& candidate_variant);

/// Lists the causes in an attribution, as shares of |delta| with the sign of the change. First come
/// layers of at least two standard errors, then reorders, layers that only one side executes, and
/// the unexplained rest.
[[nodiscard]] std::vector<Cause> find_causes(const ModelAttribution& attribution);

/// Layers grouped by what made them slower. One cause is one finding, however many layers show it.
class FindingGroups {
 public:
  /// Adds one layer. The evidence of a cause's first layer stands for all.
  void add(const Cause& cause,
           const std::string& layer,
           double delta_seconds,
           const std::vector<std::string>& models);
  /// Returns the findings, largest loss of time first.
  [[nodiscard]] std::vector<QualificationFinding> findings() const;

 private:
  std::map<std::string, QualificationFinding> by_cause_;
};

}  // namespace plumb::analysis
