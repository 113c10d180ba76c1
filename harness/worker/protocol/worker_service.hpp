// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/engine_choice.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/model_code.hpp"
#include "harness/results/run.hpp"
#include "harness/results/scenario_result.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/requests.hpp"

namespace plumb::worker {

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

/// Request to measure one key.
struct MeasureRequest {
  model::LayerKey key;
  std::vector<results::CacheMode> caches{results::CacheMode::kNone};
  std::vector<std::string> variants;  ///< empty: all, raced; else exactly these, by the full method
  results::Purpose purpose = results::Purpose::kFull;  ///< of the rows that are not races
  measure::SamplingPlan sampling;
  Seconds race_budget{0.002};  ///< for each variant's first, short measurement
  double race_margin =
      0.10;  ///< variants within this of the best get the full method; from 1 on: all of them
  std::uint64_t seed = 1;  ///< of the random inputs
  bool verify = true;
  std::int64_t verify_fully_below_macs = 1'000'000'000;  ///< above: 4,096 seeded elements
  std::int64_t disturbed_attempts = 3;  ///< how often a block on a disturbed host is measured again
  std::optional<Seconds> host_pace;     ///< the fastest that other processes saw (kHostPace)
  bool in_turns = false;  ///< time hot blocks in turns, while another worker has its own
};

/// Waits until the worker may take its next turn. Called for requests that are in_turns only.
using AwaitTurn = std::function<void()>;

/// Operations of a worker process, exactly as the protocol carries them. `runners/engine`
/// implements them over a Backend, `runners/fake` from a script.
class WorkerService {
 public:
  virtual ~WorkerService() = default;
  /// Returns whether WorkerSetup::device may choose among devices.
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
  [[nodiscard]] virtual Reproducer reproduce(const ReproducerRequest& request) {
    static_cast<void>(request);
    throw Error(Error::Kind::kUser, "this worker writes no reproducers");
  }
  /// Executes a model under the library's own profiler, which writes into the request's folder.
  /// Throws Error{kUser} if the backend has no profiler or cannot execute the model in this mode.
  [[nodiscard]] virtual Trace trace(const TraceRequest& request) {
    static_cast<void>(request);
    throw Error(Error::Kind::kUser,
                "this worker has no profiler of whole models: traces need a stack of the backend "
                "'onednn' or 'onnxruntime'");
  }
  /// Executes a model in several shapes, one execution after the other, and times each. Throws
  /// Error{kUser} if the backend cannot execute the model so.
  [[nodiscard]] virtual Alternation alternate(const AlternateRequest& request) {
    static_cast<void>(request);
    throw Error(Error::Kind::kUser, "this worker does not execute models in several shapes");
  }

  /// Executes a model or a layer while a profiler samples where its threads are. No time of a row
  /// comes from these executions. Throws Error{kUser} if the worker cannot execute the model in
  /// this mode, or the layer, and Error{kEnvironment} if the machine cannot interrupt it for
  /// samples.
  [[nodiscard]] virtual Profile profile(const ProfileRequest& request) {
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
