// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/engine_choice.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/run.hpp"
#include "harness/results/scenario_result.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/requests.hpp"

namespace plumb::worker {

inline constexpr std::size_t kMaxDeviceName = 128;  ///< bytes of a setup's device

/// Returns the environment variables by which a process has so many OpenMP threads.
[[nodiscard]] std::map<std::string, std::string> thread_variables(int threads);

/// Environment variable with the number of the descriptor for frames. `plumb` sets it, and
/// run_worker() reads it: without it, the worker was started by hand.
inline constexpr const char* kChannelVariable = "PLUMB_WORKER_CHANNEL";

/// Fact that names the worker's profiler. Absent: it has none.
inline constexpr const char* kProfilerFact = "profiler";

/// Parses names of a device's metrics, separated by ','. A name has letters, digits, '_' and '.',
/// and ends with how it is summed up ("sm__inst_executed.sum"). Each may be given once. Throws
/// Error{kUser} that names the wrong one.
[[nodiscard]] std::vector<std::string> parse_metric_names(const std::string& text);

/// Limit of the number of metrics: they become readings of a row.
inline constexpr std::size_t kMaxMetrics = 24;

/// Splits a list of paths at ':', as in PATH. Empty entries are left out.
[[nodiscard]] std::vector<std::filesystem::path> split_paths(std::string_view text);

/// Joins paths with ':'. Throws Error{kUser} for a path that contains one, since no environment
/// variable can carry it.
[[nodiscard]] std::string join_paths(const std::vector<std::filesystem::path>& paths);

/// Waits until the worker may take its next turn. Called for requests that are in_turns only.
using AwaitTurn = std::function<void()>;

/// Operations of a worker process, exactly as the protocol carries them. `runners/engine`
/// implements them over a Backend, `runners/fake` from a script.
class WorkerService {
 public:
  /// Settings of a worker, which the hello of its harness carries.
  struct Setup {
    /// What a worker observes beside its programs. None of its times counts then.
    struct Observation {
      bool kernels = false;  ///< by the device's profiler
      /// Names of the device's metrics to count (parse_metric_names()). An empty list stands for
      /// the backend's own choice. Absent: nothing is counted.
      std::optional<std::vector<std::string>> metrics;
    };

    std::vector<std::filesystem::path> libraries;  ///< of the stack: to load by path, in order
    int threads = 1;
    Observation observe;
    /// Where a worker with one thread stays: the processor with this number among those that it may
    /// use, counted round from 0. Absent: where the system puts it.
    std::optional<std::uint32_t> place = {};
    /// Which of several equal devices: its number or its identifier. Empty: the first. A backend
    /// without devices refuses a choice.
    std::string device = {};
    /// It shares its device with another worker of this harness. One measures while the other
    /// waits.
    bool takes_turns = false;
  };

  /// Request to measure one key.
  struct MeasureRequest {
    model::LayerKey key;
    std::vector<results::CacheMode> caches{results::CacheMode::kNone};
    std::vector<std::string>
        variants;  ///< empty: all, raced; else exactly these, by the full method
    results::Purpose purpose = results::Purpose::kFull;  ///< of the rows that are not races
    measure::SamplingPlan sampling;
    Seconds race_budget{0.002};  ///< for each variant's first, short measurement
    double race_margin =
        0.10;  ///< variants within this of the best get the full method; from 1 on: all of them
    std::uint64_t seed = 1;  ///< of the random inputs
    bool verify = true;
    std::int64_t verify_fully_below_macs = 1'000'000'000;  ///< above: 4,096 seeded elements
    std::int64_t disturbed_attempts =
        3;                             ///< how often a block on a disturbed host is measured again
    std::optional<Seconds> host_pace;  ///< the fastest that other processes saw (kHostPace)
    bool in_turns = false;  ///< time hot blocks in turns, while another worker has its own
  };

  /// Request to run code of the user that builds a model, and to write the model as ONNX.
  struct ExportRequest {
    results::ModelCode code;
    std::filesystem::path path;  ///< of the ONNX file, absolute; its folder exists
    std::uint64_t seed = 1;      ///< of the framework's random numbers, as in ExecuteRequest
  };

  /// Request for what a library would choose for a layer on a device that need not be present.
  struct PreviewRequest {
    model::LayerKey key;
    std::string device;  ///< the device's properties as the library writes them: JSON
  };

  /// Error in place of an answer. The worker lives on.
  struct ReportedError {
    Error::Kind kind = Error::Kind::kInternal;
    std::string text;
  };

  /// Announcement that a worker's next reply may take longer than others.
  struct LongStep {
    Seconds at_most{};
  };

  /// Answer to an ExportRequest.
  struct Exported {
    bool written = false;  ///< else this worker runs no code of users
  };

  /// Request for what the last execution sampled of a mode.
  struct SamplesRequest {
    results::ExecutionMode mode;
  };

  /// Answer to a VariantsRequest.
  struct VariantList {
    std::vector<Variant> variants;
  };

  /// Request for the ways to execute a key.
  struct VariantsRequest {
    model::LayerKey key;
  };

  virtual ~WorkerService() = default;
  /// Returns whether Setup::device may choose among devices.
  [[nodiscard]] virtual bool has_devices() const { return false; }
  [[nodiscard]] virtual results::Environment describe() = 0;
  [[nodiscard]] virtual std::vector<Variant> variants(const model::LayerKey& key) = 0;
  /// Measures a key and passes each finished row to `emit` at once. A crash then loses only the row
  /// in progress. Emits at least one row per cache mode; an outcome says why there is no time.
  virtual void measure(const MeasureRequest& request,
                       const std::function<void(results::Measurement)>& emit,
                       const AwaitTurn& await_turn) = 0;
  /// Measures peaks and bandwidth with the worker's thread count. Takes about two seconds.
  [[nodiscard]] virtual results::Calibration calibrate() = 0;
  /// Executes a whole model end to end. Emits one execution for each mode, in order; an outcome
  /// says why there is no time. `report` is called about once a second meanwhile.
  virtual void execute(const ExecuteRequest& request,
                       const std::function<void(results::Execution)>& emit,
                       const ExecuteReport& report,
                       const AwaitTurn& await_turn) = 0;
  /// Loads a whole model by a scenario. An outcome says why there is no result. `report` is called
  /// from another thread meanwhile, never after this returns.
  [[nodiscard]] virtual results::ScenarioResult load(const LoadRequest& request,
                                                     const LoadReport& report) = 0;
  /// Returns what the library would choose for a layer on a described device. An outcome says why
  /// it cannot be asked. Throws Error{kUser} if the library does not accept the description, or has
  /// no such question.
  [[nodiscard]] virtual results::EngineChoices preview(const PreviewRequest& request) {
    static_cast<void>(request);
    throw Error(Error::Kind::kUser,
                "this backend's library chooses only on the device it runs on: previews need a "
                "stack of the backend 'cuda'");
  }
  /// Writes the source of a program that does what rows did. Throws Error{kUser} if the backend has
  /// none for this key or these variants, saying for which it has.
  [[nodiscard]] virtual Reproducer reproduce(const Reproducer::Request& request) {
    static_cast<void>(request);
    throw Error(Error::Kind::kUser, "this worker writes no reproducers");
  }
  /// Executes a model under the library's own profiler, which writes into the request's folder.
  /// Throws Error{kUser} if the backend has no profiler or cannot execute the model in this mode.
  [[nodiscard]] virtual Trace trace(const Trace::Request& request) {
    static_cast<void>(request);
    throw Error(Error::Kind::kUser,
                "this worker has no profiler of whole models: traces need a stack of the backend "
                "'onednn' or 'onnxruntime'");
  }
  /// Executes a model in several shapes, one execution after the other, and times each. Throws
  /// Error{kUser} if the backend cannot execute the model so.
  [[nodiscard]] virtual Alternation alternate(const Alternation::Request& request) {
    static_cast<void>(request);
    throw Error(Error::Kind::kUser, "this worker does not execute models in several shapes");
  }

  /// Executes a model or a layer while a profiler samples where its threads are. No time of a row
  /// comes from these executions. Throws Error{kUser} if the worker cannot execute the model in
  /// this mode, or the layer, and Error{kEnvironment} if the machine cannot interrupt it for
  /// samples.
  [[nodiscard]] virtual Profile profile(const Profile::Request& request) {
    static_cast<void>(request);
    throw Error(Error::Kind::kUser,
                "this worker cannot be sampled: profiles need a stack of the backend 'onednn' or "
                "'onnxruntime'");
  }
  /// Returns what the last execute() sampled of a mode, once. Throws Error{kUser} if it sampled
  /// nothing of it.
  [[nodiscard]] virtual Profile take_samples(const results::ExecutionMode& mode) {
    throw Error(Error::Kind::kUser,
                "no block of the mode " + to_text(mode) + " was sampled while it was timed");
  }
  /// Runs code of the user that builds a model, and writes the model as ONNX. Returns false if the
  /// backend runs no such code. Throws Error{kUser} for what is wrong with the code.
  [[nodiscard]] virtual bool export_model(const ExportRequest& request) {
    static_cast<void>(request);
    return false;
  }
};

}  // namespace plumb::worker
