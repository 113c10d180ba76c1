// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "harness/analysis/compare/rounds/confirmation.hpp"
#include "harness/session/paired/paired_rounds.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Returns whether the stack of a stored run still is what it was. It is if a worker started on it
/// now, on this or an equal device, has the same files, settings and machine (is_same_software()).
/// Logs why not.
[[nodiscard]] bool is_at_hand(const results::RunHeader& run,
                              int threads,
                              const std::string& device = {});

/// Suspects of a gate, measured in pairs of restarted processes by the sequential rule.
class PairedSuspects {
 public:
  /// Keeps references to all arguments.
  PairedSuspects(const SessionContext& context,
                 const suite::ResolvedSuite& suite,
                 std::span<const PlannedModel> models,
                 const analysis::Suspects& suspects)
      : context_(context), suite_(suite), models_(models), suspects_(suspects) {}

  /// Measures both sides until every suspect is decided, or the rule's last look is past. It also
  /// ends when the budget ends or the user stops. Throws Error{kEnvironment} if a worker cannot be
  /// started.
  [[nodiscard]] analysis::PairedConfirmation measure(PairedSide baseline,
                                                     PairedSide candidate) const;

  Seconds row_timeout{60.0};  ///< of silence from a worker
  Seconds budget{60.0};       ///< no round begins after it

 private:
  [[nodiscard]] PairedWork work() const;

  const SessionContext& context_;
  const suite::ResolvedSuite& suite_;
  std::span<const PlannedModel> models_;
  const analysis::Suspects& suspects_;
};

}  // namespace plumb::session
