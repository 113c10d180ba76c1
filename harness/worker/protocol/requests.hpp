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

#include "harness/base/units.hpp"
#include "harness/loadgen/batching.hpp"
#include "harness/loadgen/load_settings.hpp"
#include "harness/measure/disturbance.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/results/run.hpp"
#include "harness/results/scenario_result.hpp"

namespace plumb::worker {

/// Request for one way to execute a model.
struct ModeRequest {
  /// Time of a variant, measured by itself.
  struct Choice {
    std::string variant;
    Seconds seconds{};
  };

  /// Measured ways to execute one step of a mode.
  struct Step {
    std::vector<model::LayerId> layers;  ///< of the model's graph, ascending; several: fused
    model::LayerKey key;                 ///< of the one layer that they become
    std::vector<Choice> choices;         ///< fastest first; a single one is always taken
  };

  results::ExecutionMode mode;
  std::vector<Step> steps;     ///< with best_variant: all layers that are computed; with
                               ///< micro_batch: those with a variant of their own
  Seconds reorder_per_byte{};  ///< price of changing a layout, by bytes read and written
};

/// Request to execute one whole model end to end, in one mode or, in turns, in several.
struct ExecuteRequest {
  /// Progress of a worker that times a model.
  struct Progress {
    double share = 0.0;  ///< of all turns, from 0 to 1; only ever grows
    Seconds elapsed{};   ///< since the first of them began
  };

  /// Sampling of where the threads are, in the blocks whose time counts.
  struct Sampling {
    double rate = 1000.0;          ///< samples a second of each thread
    std::filesystem::path folder;  ///< exists; the library writes the code that it makes there
  };

  std::string name;   ///< for the log
  std::string model;  ///< a serialized ModelProto, weight-free: shapes fixed; empty: see `path`
  std::filesystem::path path;                ///< an ONNX file, absolute
  std::optional<std::int64_t> batch;         ///< of a file, as ReadOptions
  std::optional<results::ModelCode> code;    ///< what `path` was exported from: a worker that can
                                             ///< executes it as it is, in place of the file
  std::map<std::string, std::int64_t> dims;  ///< of a file, as ReadOptions
  bool rebatch = false;                      ///< of a file, as ReadOptions
  std::string dtype = "f32";                 ///< of the model, by its name in suites; not int8
  std::string training;  ///< of a step, as rewrite::parse_step_choice() reads it; empty: none
  std::vector<ModeRequest> modes{{}};  ///< at least one
  measure::SamplingPlan sampling{.budget = Seconds(1.0)};
  std::uint64_t seed = 1;  ///< of the inputs, and of weights that the model does not hold
  std::int64_t disturbed_attempts = 2;
  std::optional<Seconds> host_pace;  ///< the fastest that other processes saw (kHostPace)
  bool verify = true;                ///< compare with the float64 reference, unless too large
  bool profile = true;               ///< time the plan's steps beside the model, for its prediction
  bool in_turns = false;             ///< wait before each turn, while another worker has its own
  std::optional<Sampling> sampled;   ///< absent: no block is sampled

  /// Returns the type in which a mode executes the model, by its name in suites.
  [[nodiscard]] std::string_view executed_type(const results::ExecutionMode& mode) const {
    return mode.other_type().empty() ? std::string_view(dtype) : mode.other_type();
  }
};

using ExecuteReport = std::function<void(const ExecuteRequest::Progress&)>;

/// Times of the executions of a model in several shapes, which alternate.
///
/// The first execution of a shape contains what the backend needs for a new shape. A backend that
/// executes all shapes by one program, as inference runtimes do, makes that program before.
struct Alternation {
  /// Request to execute one model in several shapes, one execution after the other.
  struct Request {
    std::vector<ExecuteRequest> shapes;  ///< of one model, each with exactly one mode, the same
    std::vector<std::uint32_t> order;    ///< of the executions, as indices of `shapes`
  };

  bool one_program = false;      ///< for all shapes; else each shape has one, from its first on
  Seconds preparation{};         ///< of the one program; zero: there is none
  std::vector<Seconds> seconds;  ///< of each execution, in the order of the request
  measure::Disturbance disturbance{};  ///< of all executions together
  results::Readings readings{};        ///< beside them: kHostPace
};

/// Words with which a worker begins to refuse outputs that differ from those of the shape alone.
inline constexpr std::string_view kWrongAlternation = "wrong result";

/// Limits of a request to alternate shapes.
inline constexpr std::size_t kMaxAlternatedShapes = 16;
inline constexpr std::size_t kMaxAlternatedExecutions = 100'000;

/// Request to load one whole model by a scenario.
struct LoadRequest {
  /// Progress of a load.
  struct Progress {
    std::string phase;          ///< "preparing batches of 8", "running"
    std::uint64_t batches = 0;  ///< executed so far, warm-up and probes included
    Seconds elapsed{};
  };

  /// Model for batches of `samples` samples.
  struct Bucket {
    std::size_t samples = 1;
    ExecuteRequest model;
  };

  std::vector<Bucket> buckets;  ///< ascending; the first is of one sample
  std::int64_t inputs_per_sample = 1;
  loadgen::RequestedLoad load;  ///< performance mode; the worker chooses the data set
  loadgen::DynamicBatcher::Policy batches{.maximum_batch = 1, .timeout = {}, .lanes = 1};
  std::optional<Seconds> budget;  ///< of the load, searches and confirmations included
  std::uint64_t data_set = 1024;  ///< samples of the data set, but at least two batches per lane
  /// Path of MLPerf's accuracy log, which the worker writes. After the load every sample of the
  /// data set is queried once, and each answer compared. Empty: no log.
  std::filesystem::path accuracy_log;
};

/// Returns a result with what was requested, before the load begins.
[[nodiscard]] results::ScenarioResult begin_load(const LoadRequest& request);

/// Receiver of progress, about once a second. It is called from any thread, but never from two at
/// once.
using LoadReport = std::function<void(const LoadRequest::Progress&)>;

/// Fact of a worker whose threads can be sampled while it executes a model
/// (WorkerService::profile()): what is sampled. Absent: nothing can be.
inline constexpr const char* kSamplingFact = "measure.sampling";

/// Samples of a model's executions.
struct Profile {
  /// Request to execute one model in one mode, or one layer alone, while a profiler samples it.
  struct Request {
    ExecuteRequest model;  ///< with exactly one mode; of a layer, `seed` alone counts
    std::string layer;  ///< key; executed by the library's choice in place of a model; empty: none
    std::filesystem::path folder;  ///< exists; the library writes the code that it makes there
    double rate = 1000.0;          ///< samples a second of each thread
    Seconds budget{10.0};          ///< of all executions, half of them without samples
    /// For the whole, with the model's preparation. Absent: any time. Refused if it is too short
    /// for kMinProfilePairs pairs of blocks.
    std::optional<Seconds> within;
    std::optional<results::SampledProfile::Clock> clock;  ///< absent: the best that the machine has
    bool chains = false;                                  ///< samples have chains of calls
  };

  results::SampledProfile samples;
  std::vector<std::string> code_files;  ///< jitdumps and a perf map in the folder of the request
};

/// Limits of a profile and of its request.
inline constexpr std::size_t kMinProfilePairs = 6;  ///< so that shares have intervals
inline constexpr double kMinSamplingRate = 1.0;
inline constexpr double kMaxSamplingRate = 20'000.0;
inline constexpr Seconds kMaxProfileBudget{3600.0};
inline constexpr std::size_t kMaxProfileSamples = 2'000'000;
inline constexpr std::size_t kMaxProfileSteps = 100'000;
inline constexpr std::size_t kMaxProfileBlocks = 100'000;
inline constexpr std::size_t kMaxCodeMappings = 10'000;
inline constexpr std::size_t kMaxCodeFiles = 16;
inline constexpr std::size_t kMaxCallChains = 200'000;
inline constexpr std::size_t kMaxCallDepth = 32;
inline constexpr std::size_t kMaxProfileTextBytes = 4096;  ///< of a path, a variant or a reason

/// Traces of a model's executions.
struct Trace {
  /// Request to execute one model in one mode under the library's own profiler.
  struct Request {
    ExecuteRequest model;          ///< with exactly one mode
    std::filesystem::path folder;  ///< exists; the worker writes the profiler's files there
    std::uint64_t executions = 1;  ///< after those that warm up
  };

  /// File of a trace, as the library's profiler wrote it.
  struct File {
    std::string format;  ///< "onednn", "onnxruntime" or "kineto"
    std::string name;    ///< in the folder of the request
  };

  std::vector<File> files;
  std::optional<Seconds> untraced;  ///< median of an execution without the profiler
};

/// Limits of a trace and of its request.
inline constexpr std::uint64_t kMaxTracedExecutions = 1000;
inline constexpr std::size_t kMaxTraceFiles = 64;
inline constexpr std::size_t kMaxTraceFormatBytes = 64;

/// Source of a program, for a bug report to the makers of the library.
struct Reproducer {
  /// Request for the source of a program that does what rows of one key did. The program uses the
  /// library and nothing else.
  struct Request {
    model::LayerKey key;
    std::vector<results::Measurement> rows;  ///< its measurements: one program executes all their
                                             ///< variants
    std::uint64_t seed = 1;                  ///< of the rows' operands
  };

  struct File {
    std::string name;  ///< in the program's folder: letters, digits, '_', '-' and '.'
    std::string text;
  };
  std::vector<File> files;
  std::string instructions;  ///< Markdown: its requirements, how to build and run it
  /// Variables that make the library log its calls to stdout. They must be set before it is loaded.
  /// `log_prefix` is how lines of that log begin.
  std::map<std::string, std::string> log_variables;
  std::string log_prefix;
};

/// Limits of a reproducer and of its request.
inline constexpr std::size_t kMaximumReproducerFiles = 64;
inline constexpr std::size_t kMaximumReproducerBytes = std::size_t{4} << 20;  ///< of one text
inline constexpr std::size_t kMaximumReproducerRows = 64;

/// Returns whether `name` is the name of a file, without a folder.
[[nodiscard]] bool is_plain_file_name(const std::string& name);

}  // namespace plumb::worker
