// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "harness/results/environment.hpp"

namespace plumb::results {

/// Names of what a run measured, by what they name: "commit", "branch", "pr", or a word of the
/// user's. They are facts of the run ("label.commit"), so that series go on from one to the next.
using RunLabels = std::map<std::string, std::string>;

/// Returns the labels of a run from its environment.
[[nodiscard]] RunLabels run_labels(const Environment& environment);
/// Adds labels to the facts of a run.
void add_labels(const RunLabels& labels, Environment& environment);

/// Parses labels written as NAME=VALUE. A name has up to 32 lower-case letters, digits and
/// underscores, a value up to 200 bytes without control characters. Where a name has no value, it
/// removes the label. Throws Error{kUser}.
[[nodiscard]] RunLabels parse_labels(std::span<const std::string> texts, RunLabels defaults = {});

/// Returns commit, branch and pull request as GitHub Actions, GitLab CI, Jenkins or Buildkite name
/// them in a job's environment. `variable` returns the value of a variable. Values that could not
/// be labels are left out.
[[nodiscard]] RunLabels labels_of_job(
    const std::function<std::optional<std::string>(const char* name)>& variable);

/// Returns whether a run has all the wanted labels. A value may be the beginning of the run's, as a
/// short commit is.
[[nodiscard]] bool has_labels(const Environment& environment, const RunLabels& wanted);

/// Returns the commit that a run measured. Empty: its labels name none.
[[nodiscard]] std::string commit_of(const Environment& environment);

/// Writes labels for a table. Of a commit, it has twelve digits: "branch=main commit=4f2a9c01d3b7".
[[nodiscard]] std::string to_text(const RunLabels& labels);

}  // namespace plumb::results
