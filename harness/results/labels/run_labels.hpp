// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/results/measurement.hpp"
#include "harness/results/run.hpp"

namespace plumb::results {

/// Template of the addresses of commits: "https://example.org/team/repo/commit/{commit}".
class CommitLink {
 public:
  /// Without a template, no commit has an address.
  CommitLink() = default;
  /// Takes a template that begins with http:// or https://, and has `{commit}` once, behind the
  /// host. Throws Error{kUser} for another one, and for characters that no address has.
  explicit CommitLink(std::string_view url);

  /// Returns the address of a commit, whose characters are escaped. Empty: it has none.
  [[nodiscard]] std::string address(std::string_view commit) const;

 private:
  std::string before_;
  std::string after_;
};

/// Returns whether a text is an http or https address of a host, without a user, and without
/// characters that end a link in Markdown or HTML.
[[nodiscard]] bool is_web_address(std::string_view text);

/// Returns whether a commit is named by its hash, or by the first seven digits of it or more. Git
/// takes such a name for nothing else.
[[nodiscard]] bool is_commit_hash(std::string_view commit);

/// Returns the first twelve characters of a commit, as tables show it.
[[nodiscard]] std::string short_commit(std::string_view commit);

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

/// Marks of runs whose times come about in another way than those of `plumb run`. A mark ends the
/// name of the method of measurement, so it is part of the environment's identity.
inline constexpr std::string_view kPairedMark = " paired";    ///< in turns with another worker
inline constexpr std::string_view kSampledMark = " sampled";  ///< while a profiler sampled them

/// Attribute of the rows whose blocks were sampled: how.
inline constexpr const char* kSampledRow = "sampled";

/// Returns whether a run has a mark.
[[nodiscard]] bool has_mark(const Environment& environment, std::string_view mark);
/// Adds a mark to a run that has none.
void add_mark(std::string_view mark, Environment& environment);
/// Returns the environment without a mark.
[[nodiscard]] Environment without_mark(Environment environment, std::string_view mark);

/// Stack of imported runs.
inline constexpr std::string_view kExternalStack = "external";
inline constexpr std::string_view kExternalKey = "external:";
inline constexpr std::string_view kExternalVariant = "external;benchmark=";

/// Returns the key of an imported row whose name says nothing about what it computes
/// (docs/adr/0006).
[[nodiscard]] inline model::LayerKey external_key(const std::string& suite,
                                                  const std::string& name) {
  return {std::string(kExternalKey) + suite + ":" + name};
}

/// Returns the variant of an imported row whose name a mapping relates to a layer key.
[[nodiscard]] inline std::string external_variant(const std::string& name) {
  return std::string(kExternalVariant) + name;
}

/// Returns the name in the key of an imported row. Absent: it is a layer's key.
[[nodiscard]] inline std::optional<std::string> external_name(std::string_view key) {
  if (!key.starts_with(kExternalKey)) {
    return std::nullopt;
  }
  const std::size_t end = key.find(':', kExternalKey.size());
  return std::string(key.substr(end == std::string_view::npos ? kExternalKey.size() : end + 1));
}

/// Returns the name that another harness gave to what a row measured. Absent: the row was not
/// imported.
[[nodiscard]] inline std::optional<std::string> external_name(const Measurement& row) {
  if (std::optional<std::string> name = external_name(row.key.text)) {
    return name;
  }
  if (row.variant.starts_with(kExternalVariant)) {
    return row.variant.substr(kExternalVariant.size());
  }
  return std::nullopt;
}

}  // namespace plumb::results
