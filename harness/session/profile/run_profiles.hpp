// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/profile/function_growth.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/base/units.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/session/work/worker_requests.hpp"
#include "harness/store/store.hpp"
#include "harness/suite/suite.hpp"
#include "harness/worker/client/worker_process.hpp"
#include "harness/worker/protocol/requests.hpp"

namespace plumb::session {

/// Kind of the record that says what a run's profiling did.
inline constexpr const char* kProfilingRecord = "profiling";

/// Returns the newest profile that a run keeps of the model of this name or subject. Empty: the run
/// has profiles of one model only. Absent: the run has none. Throws Error{kUser} that lists the
/// models, if several are meant.
[[nodiscard]] std::optional<results::StoredProfile> find_profile(const store::Store& store,
                                                                 const results::RunId& run,
                                                                 const std::string& model);

/// Reads a profile that a run keeps, as find_profile() does. Throws Error{kUser} that lists the
/// models, or says why the run has no profile.
[[nodiscard]] results::StoredProfile read_profile(const store::Store& store,
                                                  const results::RunId& run,
                                                  const std::string& model);

/// Adds the newest profile that the run of a report keeps of each model.
void add_profiles(const store::Store& store, analysis::RunReport& report);

/// Runs that are read at most: the newest.
inline constexpr std::size_t kMaxProfiledRuns = 500;

/// Reads the profiles of the runs that finished and started after a moment. Those that were sampled
/// while they were timed are left out: their times include the samples' cost.
[[nodiscard]] std::vector<analysis::RunMerger::DatedProfile> read_dated_profiles(
    const store::Store& store, Timestamp after);

/// Runs that are merged at most.
inline constexpr std::size_t kMaxMergedRuns = 500;

/// Samples a model, and names the samples.
[[nodiscard]] results::NamedProfile profile_model(const worker::WorkerProcess::Options& options,
                                                  const worker::Profile::Request& request,
                                                  Seconds timeout,
                                                  const PlannedModel& planned,
                                                  const std::function<bool()>& keep_running);

/// Returns how much a mode says of a run's models: the higher, the better.
[[nodiscard]] int rank_profiled_mode(const results::ExecutionMode& mode);

/// Share of a run's time that its pass may take.
inline constexpr double kPassShare = 0.01;
/// Samples a second of each thread. No time that counts is disturbed, so they may be dense.
inline constexpr double kPassRate = 4000.0;

/// Pass of a run that profiles its models, each in a worker of its own.
class RunProfiles {
 public:
  /// Profiles of a model by several runs, of each environment, mode and clock one.
  struct Merged {
    /// Choice of stored runs whose profiles of one model are merged.
    struct Choice {
      std::string runs;  ///< one, or several as find_named_runs() takes them
      /// Runs in all, where one is named: it, and the newest ones before it of its suite and
      /// environment that have a profile of the model.
      std::size_t newest = 1;
      std::string model;  ///< name or subject; empty: the runs have profiles of one model only
    };

    std::vector<results::NamedProfile> profiles;  ///< that of the newest run last
    std::size_t without = 0;                      ///< runs that keep no profile of the model
  };

  /// Report on the profiles that a run took, or why it took none.
  struct Record {
    std::size_t models = 0;    ///< to be profiled
    std::size_t profiled = 0;  ///< of these
    Seconds spent{};           ///< in the pass, with the start of its workers
    Seconds allowed{};         ///< for it
    std::string reason;        ///< why not all were profiled; empty: all were
  };

  /// Profiles of a run's models by the blocks whose time counts, over all processes that time them.
  class Timed {
   public:
    /// Keeps references to all arguments.
    Timed(const SessionContext& context,
          const results::RunId& run,
          const worker::WorkerProcess::Options& worker,
          std::span<const PlannedModel> models)
        : context_(context), run_(run), worker_(worker), models_(models) {}

    /// Returns how the next worker samples. The folder is there until the next call.
    [[nodiscard]] worker::ExecuteRequest::Sampling next_request();
    /// Names the samples of a model, by index, in a mode, and adds them to those of other
    /// processes.
    void take(std::size_t index, const results::ExecutionMode& mode, worker::Profile profile);
    /// Stores what was taken of each model and mode. The profile of the mode that says most of a
    /// model is its newest one. Returns the record for `models` models.
    [[nodiscard]] Record store(std::size_t models);

   private:
    const SessionContext& context_;
    const results::RunId& run_;
    const worker::WorkerProcess::Options& worker_;
    std::span<const PlannedModel> models_;
    std::optional<RawFolder> folder_;
    std::map<std::pair<std::size_t, results::ExecutionMode>, results::NamedProfile> profiles_;
  };

  /// Samples of a model's executions, and where the code lies that was made meanwhile.
  struct Sampled {
    results::SampledProfile samples;
    std::vector<std::filesystem::path> dumps;  ///< jitdumps, and perf maps named `.map`
  };

  /// When models are profiled.
  enum class When {
    kNever,
    kPass,    ///< after they were timed, in a pass of its own
    kAlways,  ///< while they are timed, which makes their times no points of a history
  };

  /// Workers of a run.
  struct Workers {
    const worker::WorkerProcess::Options& options;
    Seconds longest_start{};  ///< of a process with its library
  };

  /// Keeps references to all arguments but `modes`. The run has executed the models.
  RunProfiles(const SessionContext& context,
              const results::RunId& run,
              const Workers& workers,
              const suite::ResolvedSuite& suite,
              std::span<const PlannedModel> models,
              WantedModes modes)
      : context_(context),
        run_(run),
        workers_(workers),
        suite_(suite),
        models_(models),
        modes_(std::move(modes)) {}

  /// Profiles the chosen models, by index, and stores the profiles. Each is executed in the mode
  /// fusion if the run timed it, else plain, else another one. It is left out if preparing it and
  /// the fewest useful samples would take longer than is left of `allowed`. What that takes is
  /// first expected by the run's own times, then by the profiles before it. A worker that is still
  /// at work when `allowed` ends is killed. A random order gives each its turn over many runs. A
  /// model that cannot be profiled is logged. Models that have a profile keep it.
  [[nodiscard]] Record take(std::vector<std::size_t> chosen, Seconds allowed);

 private:
  /// What is known of one model before it is profiled.
  struct Model {
    std::size_t index = 0;
    worker::ModeRequest mode;
    Seconds preparation{};  ///< expected, of a worker until it executes the model
    Seconds least{};        ///< of executions, for enough pairs of blocks
    double size = 0.0;      ///< of its operands, relative to other models
  };
  [[nodiscard]] std::vector<Model> find_models(std::vector<std::size_t> chosen) const;
  /// Returns why a model has no profile; empty: it has one.
  [[nodiscard]] std::string try_profile(const Model& model, Seconds share, Seconds end);
  void profile(const Model& model, Seconds budget, Seconds end);
  /// Returns what is expected to be left for executions of a model, of some time.
  [[nodiscard]] Seconds executing(const Model& model, Seconds time) const {
    return time - model.preparation - afterwards_ -
           (observed_ > 0.0 ? model.size / observed_ : 0.0) * unforeseen_;
  }

  const SessionContext& context_;
  const results::RunId& run_;
  Workers workers_;
  const suite::ResolvedSuite& suite_;
  std::span<const PlannedModel> models_;
  WantedModes modes_;
  Seconds unforeseen_{};     ///< that preparing took beyond what was expected, of all profiles
  double observed_ = 0.0;    ///< size of their models
  Seconds afterwards_{0.2};  ///< to end a worker, name the samples and store them
};

/// Reads the profiles of the chosen runs one after the other, and merges them (RunMerger). Throws
/// Error{kUser} for a run that is not there, if no run has a profile of the model, and if the
/// profiles are of several models.
[[nodiscard]] RunProfiles::Merged read_merged_runs(const store::Store& store,
                                                   const RunProfiles::Merged::Choice& choice);

void put_profiling(store::Store& store,
                   const results::RunId& run,
                   const RunProfiles::Record& record);

/// Returns the newest record of a run. Absent: the run was not to take profiles, or is older.
[[nodiscard]] std::optional<RunProfiles::Record> read_profiling(const store::Store& store,
                                                                const results::RunId& run);

/// Executes a model in a worker of its own that samples it. The request's folder exists, and
/// `timeout` is beside its budget. The worker's start counts to the time that the whole may take.
/// Throws WorkerDied, and Error{kUser} if the model cannot be profiled so.
[[nodiscard]] RunProfiles::Sampled sample_model(const worker::WorkerProcess::Options& options,
                                                const worker::Profile::Request& request,
                                                Seconds timeout,
                                                const std::function<bool()>& keep_running);

/// Names the samples of a planned model in a mode, and lists the hottest code in full.
[[nodiscard]] results::NamedProfile name_profile(const RunProfiles::Sampled& sampled,
                                                 const worker::WorkerProcess::Options& options,
                                                 const results::ExecutionMode& mode,
                                                 const PlannedModel& planned);

/// Samples a second of each thread while it is timed: few, because each costs time that counts.
inline constexpr double kTimedRate = 1000.0;

}  // namespace plumb::session
