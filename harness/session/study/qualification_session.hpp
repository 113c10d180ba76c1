// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/analysis/qualify/qualification.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/session/paired/paired_rounds.hpp"
#include "harness/session/paired/paired_session.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Outcome of comparing two stacks.
struct UpgradeTest {
  /// Options for comparing two stacks in pairs of restarted processes.
  struct Options {
    std::string baseline;
    std::string candidate;
    PairedSession::Options paired;  ///< of valid pairs
    results::RunLabels labels;      ///< of what is measured
    /// Time to profile what changed, on both sides together. Absent: nothing is profiled.
    std::optional<Seconds> profile_budget = Seconds(120.0);
    bool layers = true;  ///< measured, beside models
  };

  analysis::Qualification qualification;
  bool stacks_unchanged = true;  ///< else a stack changed while it was measured
};

/// Measures both stacks in pairs until everything is decided, or the pairs or the budget are used
/// up. The user may stop it earlier.
///
/// Then it tries the baseline's implementation of regressed layers in the candidate, profiles the
/// models that changed on both sides, and judges everything by `criteria`. Each side is kept as a
/// run, and the qualification as the candidate's record "qualification". Throws Error{kRefused} if
/// the sides differ in more than their stacks.
[[nodiscard]] UpgradeTest test_upgrade(const SessionContext& context,
                                       const suite::ResolvedSuite& suite,
                                       std::span<const PlannedModel> models,
                                       const analysis::Qualification::Criteria& criteria,
                                       const UpgradeTest::Options& options);

}  // namespace plumb::session
