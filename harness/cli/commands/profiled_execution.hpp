// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/cli/command.hpp"
#include "harness/cli/commands/traced_execution.hpp"
#include "harness/results/profile/code_listing.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/session/profile/merged_runs.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::cli {

/// How a model is profiled.
struct ProfileSource {
  session::WorkerChoice worker;
  std::string mode = "fusion";
  double rate = 1000.0;  ///< samples a second of each thread
  Seconds budget{};      ///< of executions
  std::string clock;     ///< empty: the best that the machine has
  Seconds timeout{};     ///< beside the budget
  std::string folder;    ///< for the library's code; empty: it is not kept
  bool chains = false;   ///< samples have chains of calls
  std::string listing;   ///< function whose code is listed, or kHottest; empty: none
  /// LAYER=VARIANT. Not empty: `mode` does not count.
  std::vector<std::string> forced;
};

/// Name that stands for the function with most samples.
inline constexpr const char* kHottest = "hottest";

/// Profile of a model, and the code that was asked for.
struct ProfiledExecution {
  results::NamedProfile profile;
  std::optional<results::CodeListing> listing;
};

/// Profiles a model in a worker, and names its samples. Throws Error{kUser} if the model cannot be
/// profiled so, the worker does not execute a variant that was forced, or the function cannot be
/// listed.
[[nodiscard]] ProfiledExecution profile_execution(const CommandContext& context,
                                                  const ProfileSource& source,
                                                  const suite::ResolvedSuite::Model& model,
                                                  const std::optional<StoredRun>& run);

/// Returns whether a name stands for one or several stored runs. Else it is the name of a built-in
/// model or of a file, or there is no such run.
[[nodiscard]] bool names_stored_runs(const CommandContext& context, const std::string& name);

/// Reads the profiles of stored runs of a model. Of one run it is the profile itself, of several
/// they are merged (session::read_merged_runs()), and it is said which have none.
[[nodiscard]] std::vector<results::NamedProfile> read_run_profiles(
    const CommandContext& context, const session::MergedRunsChoice& choice);

/// Returns the only profile of some runs. Throws Error{kRefused} that says what differs between
/// several.
[[nodiscard]] results::NamedProfile single_profile(std::vector<results::NamedProfile> profiles);

/// Reads a profile by the name of its JSON file, or of stored runs. Throws Error{kUser} if the name
/// is neither, and as single_profile() does.
[[nodiscard]] results::NamedProfile read_named_profile(const CommandContext& context,
                                                       const session::MergedRunsChoice& choice);

/// Returns the listing that a stored profile keeps of a function, or of kHottest. Throws
/// Error{kUser} that names the functions of which it keeps one.
[[nodiscard]] results::CodeListing find_listing(const results::NamedProfile& profile,
                                                const std::string& function);

/// Reads a profile that was written as JSON. Throws Error{kUser} with the file's name.
[[nodiscard]] results::NamedProfile read_profile_file(const std::string& file);

}  // namespace plumb::cli
