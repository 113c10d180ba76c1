// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/analysis/trace/trace_report.hpp"
#include "harness/cli/command.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/profile/run_profiles.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/store/store.hpp"
#include "harness/suite/suite.hpp"
#include "harness/worker/protocol/requests.hpp"

namespace plumb::cli {

/// Name that stands for the function with most samples.
inline constexpr const char* kHottest = "hottest";

/// Profile of a model, and the code that was asked for.
struct ObservedExecution {
  /// Run of a store that helps to judge a trace.
  struct Run {
    std::unique_ptr<store::Store> store;
    results::RunRecord record;
    analysis::ResultSet results;
  };

  /// Where a trace comes from: a worker that makes it, or files.
  struct TraceSource {
    std::vector<std::string> files;  ///< traces from elsewhere; none: one is made
    session::WorkerChoice worker;
    std::string mode = "fusion";
    std::uint64_t executions = 11;
    Seconds timeout{};
    std::string folder;  ///< for the raw trace; empty: it is not kept
  };

  /// How a model is profiled.
  struct Source {
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

  results::NamedProfile profile;
  std::optional<results::NamedProfile::Listing> listing;
};

/// Opens the named run. Empty name: none.
[[nodiscard]] std::optional<ObservedExecution::Run> open_run(const CommandContext& context,
                                                             const std::string& name);

/// Makes the request for a mode. A mode of measured variants needs those of a run that has the
/// model. Throws Error{kUser} without one.
[[nodiscard]] worker::ModeRequest make_mode_request(
    const results::ExecutionMode& mode,
    const session::PlannedModel& planned,
    const std::optional<ObservedExecution::Run>& run);

/// Makes or reads the trace of a model, matches its calls and finds what they do otherwise than the
/// model needs. Throws Error{kUser} if the model cannot be traced so.
[[nodiscard]] analysis::TraceReport trace_execution(
    const CommandContext& context,
    const ObservedExecution::TraceSource& source,
    const suite::ResolvedSuite::Model& model,
    const std::optional<ObservedExecution::Run>& run);

/// Profiles a model in a worker, and names its samples. Throws Error{kUser} if the model cannot be
/// profiled so, the worker does not execute a variant that was forced, or the function cannot be
/// listed.
[[nodiscard]] ObservedExecution profile_execution(const CommandContext& context,
                                                  const ObservedExecution::Source& source,
                                                  const suite::ResolvedSuite::Model& model,
                                                  const std::optional<ObservedExecution::Run>& run);

/// Returns whether a name stands for one or several stored runs. Else it is the name of a built-in
/// model or of a file, or there is no such run.
[[nodiscard]] bool names_stored_runs(const CommandContext& context, const std::string& name);

/// Reads the profiles of stored runs of a model. Of one run it is the profile itself, of several
/// they are merged (session::read_merged_runs()), and it is said which have none.
[[nodiscard]] std::vector<results::NamedProfile> read_run_profiles(
    const CommandContext& context, const session::RunProfiles::Merged::Choice& choice);

/// Returns the only profile of some runs. Throws Error{kRefused} that says what differs between
/// several.
[[nodiscard]] results::NamedProfile single_profile(std::vector<results::NamedProfile> profiles);

/// Reads a profile by the name of its JSON file, or of stored runs. Throws Error{kUser} if the name
/// is neither, and as single_profile() does.
[[nodiscard]] results::NamedProfile read_named_profile(
    const CommandContext& context, const session::RunProfiles::Merged::Choice& choice);

/// Returns the listing that a stored profile keeps of a function, or of kHottest. Throws
/// Error{kUser} that names the functions of which it keeps one.
[[nodiscard]] results::NamedProfile::Listing find_listing(const results::NamedProfile& profile,
                                                          const std::string& function);

/// Reads a profile that was written as JSON. Throws Error{kUser} with the file's name.
[[nodiscard]] results::NamedProfile read_profile_file(const std::string& file);

}  // namespace plumb::cli
