// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/session/bisect/candidate_source.hpp"
#include "harness/session/paired/paired_run.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// What a search compares: a layer, models end to end, or all of a suite.
struct BisectionQuestion {
  std::string what;  ///< as the user names it
  suite::ResolvedSuite suite;
  std::vector<PlannedModel> models;  ///< the suite's
  PairedWork work;                   ///< what is compared between the ends
};

/// Returns the question for one layer. Throws Error{kUser} if it is no layer key.
[[nodiscard]] BisectionQuestion question_of_layer(const std::string& key);
/// Returns the question for a suite, or with `end_to_end_only` for its models without its layers.
/// Throws Error{kUser} if none of its models can be read.
[[nodiscard]] BisectionQuestion question_of_suite(const ModelSource& source,
                                                  std::string what,
                                                  suite::ResolvedSuite suite,
                                                  bool end_to_end_only);

/// Options for a search for the first candidate on which something is worse.
struct BisectionOptions {
  /// Of a candidate, with kLongerPairs times the pairs if they decide nothing. A search has no
  /// budget, and its question names the modes.
  PairedOptions paired;
  double drift = 0.10;  ///< of a control within a pair, for the pair to count
  bool resume = false;  ///< continues an unfinished search for the same
};

/// Searches for the first candidate on which something is slower or broken.
///
/// The ends are compared first, and what is broken or slows down most between them is searched for.
/// Each candidate is then compared with the good end. At last the first bad one is compared with
/// the last good one. Every comparison is of new pairs. The steps are kept in a record until the
/// search ends. Throws Error{kUser} if an end of the line cannot be built or measured.
[[nodiscard]] analysis::Bisection bisect(const SessionContext& context,
                                         CandidateSource& source,
                                         const BisectionQuestion& question,
                                         const BisectionOptions& options);

}  // namespace plumb::session
