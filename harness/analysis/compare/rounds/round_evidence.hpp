// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/analysis/compare/finding.hpp"

namespace plumb::analysis {

/// Metric of a qualification: a model in one mode, or a layer.
struct QualifiedMetric {
  std::string subject;  ///< subject_of() the model; of a layer, its key
  std::string mode;     ///< "plain", "fusion"; empty: a layer
  MetricComparison test;
  std::string baseline_variant;           ///< a layer's, as the library chose it
  std::string candidate_variant;          ///< likewise
  std::vector<double> baseline_seconds;   ///< one per round, in the order measured
  std::vector<double> candidate_seconds;  ///< likewise; the same rounds
  std::size_t screening_pairs = 0;        ///< number of these rounds, from the first on
  std::size_t decided_at = 0;             ///< pairs, at the look that decided; 0: none did
  std::vector<std::string> models;        ///< subjects that a layer occurs in
  std::string place;                      ///< of a layer: "conv1 of lenet, and 2 more"
  PinnedVariantCheck replay;              ///< of a regressed layer
  std::string waived_by;                  ///< the reason of the waiver that covers it; empty: none
};

/// Control, measured in every process and independent of the libraries under test.
struct QualifiedControl {
  std::string name;  ///< "floor", "product", "copy"
  MetricComparison test;
  std::vector<double> baseline_seconds;  ///< one per round
  std::vector<double> candidate_seconds;
  bool moved = false;  ///< the machine was not the same for both sides
};

/// Control of the comparison itself: how often pairs of a run differ from other pairs of it.
struct AlarmControl {
  static constexpr std::size_t kMinTests = 20;  ///< fewer may all move together

  std::size_t tests = 0;
  std::size_t alarms = 0;
  double level = 0.05;  ///< of each test
  double low = 0.0;     ///< of the rate, 95% (Clopper and Pearson)
  double high = 1.0;

  /// Returns whether the rate of at least kMinTests certainly exceeds twice the level.
  [[nodiscard]] bool failed() const { return tests >= kMinTests && low > 2.0 * level; }
};

/// Round that does not count, and why.
struct InvalidRound {
  std::size_t round = 0;
  std::string reason;
};

/// Look of the sequential rule.
struct QualificationLook {
  std::size_t pairs = 0;
  std::size_t open = 0;  ///< metrics that need more pairs after it
};

}  // namespace plumb::analysis
