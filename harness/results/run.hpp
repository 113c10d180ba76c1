// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/base/units.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::results {

/// Facts by name, in order of name.
using Facts = std::map<std::string, std::string>;

/// Environment of a run. Two runs belong to one environment exactly if `identity` is equal. It is
/// short, documented (docs/reference/store.md) and hashed. `facts` has everything else, which is
/// shown in diffs and never hashed.
struct Environment {
  Facts identity;  ///< cpu.model, cpu.count, memory, virtualisation, stack (hash), driver, threads,
                   ///< method
  Facts facts;     ///< kernel, microcode, governor, load, library versions, paths and hashes,
                   ///< compiler, our commit…

  /// Returns the first 16 hex digits of the SHA-256 of the identity, written as "name=value\n"
  /// lines.
  [[nodiscard]] std::string id() const;
};

/// Returns the text of a fact. Empty: it is absent.
[[nodiscard]] inline std::string fact_of(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "" : found->second;
}

/// Returns the number of threads in an environment's identity, or 1 without one.
[[nodiscard]] int threads_of(const Environment& environment);

/// Returns whether a part of an environment's identity is a variable that the stack sets, such as
/// "ONEDNN_MAX_CPU_ISA". These are named in capitals, and no other part is.
[[nodiscard]] inline bool is_variable(std::string_view fact) {
  constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !fact.empty() && fact.find_first_not_of(kCapitals) == std::string_view::npos;
}

/// Returns whether a part of an environment's identity belongs to the stack: the library
/// ("library", "library.isa") and the stack's variables.
[[nodiscard]] inline bool is_of_stack(std::string_view fact) {
  return is_variable(fact) || fact == "library" || fact.starts_with("library.");
}

/// Returns whether the environment is of a GPU, not of a processor.
[[nodiscard]] inline bool is_gpu(const Environment& environment) {
  // The CUDA worker says "gpu", imported results of NVBench say "gpu.model".
  return environment.identity.contains("gpu") || environment.identity.contains("gpu.model");
}

/// Returns the model name of the device that was measured: the GPU's, or else the processor's. It
/// is as the system gives it. Empty: unknown.
[[nodiscard]] inline std::string device_model(const Environment& environment) {
  for (const char* const name : {"gpu", "gpu.model", "cpu.model"}) {
    if (const auto found = environment.identity.find(name); found != environment.identity.end()) {
      return found->second;
    }
  }
  return {};
}

using RunId = std::string;   ///< a ULID
using RowId = std::int64_t;  ///< of a stored measurement, unique in its store

/// Description of a run, complete before its first row.
struct RunHeader {
  RunId id;
  std::string suite;           ///< name
  std::string suite_hash;      ///< SHA-256 of `resolved_suite`
  std::string resolved_suite;  ///< JSON of the ResolvedSuite, with the graphs' layers (what is
                               ///< needed to analyse again)
  std::string backend;         ///< "onednn"
  std::string stack;           ///< "default", …
  Environment environment;
  std::string shard;  ///< "1/4", or empty
  std::vector<std::string> command;
  Timestamp started{};
};

/// States of a run in the store.
enum class RunState { kRunning, kFinished, kInterrupted };
[[nodiscard]] std::string_view to_text(RunState state);
[[nodiscard]] std::optional<RunState> parse_run_state(std::string_view text);

/// Record of a run in the store.
struct RunRecord {
  RunHeader header;
  RunState state =
      RunState::kRunning;  ///< kRunning with no live process: was killed, can be resumed
  std::optional<Timestamp> finished;
  std::int64_t rows_ok = 0;
  std::int64_t rows_failed = 0;
  std::int64_t rows_reused = 0;
  std::vector<std::string> tags;

  [[nodiscard]] bool has_tag(std::string_view tag) const {
    return std::find(tags.begin(), tags.end(), tag) != tags.end();
  }
};

/// Kind of the records that a run shared by several processes has of its hosts. The subject is the
/// host's name.
inline constexpr const char* kHostRecord = "host";

/// Measurement as the store returns it.
struct StoredMeasurement {
  RowId row = 0;
  RunId run;            ///< the run that measured it
  bool reused = false;  ///< linked into the requested run, measured by an earlier one
  Measurement measurement;
};

/// Record computed from rows: a bound, a what-if, a verdict, a calibration.
struct DerivedRecord {
  RunId run;
  std::string kind;              ///< such as kBoundRecord
  std::string subject;           ///< model|batch|dtype|axis=extent…, or a key
  std::string analysis_version;  ///< of the code that computed it
  std::vector<RowId> inputs;
  std::string payload;  ///< JSON
  Timestamp computed{};
};

// Kinds of records, beside those of execution.hpp, exclusion.hpp, paired_round.hpp and
// executed_trace.hpp.

/// Acceptance of a run as a baseline.
inline constexpr const char* kBaselineRecord = "baseline";
/// Bounds of a model.
inline constexpr const char* kBoundRecord = "bound";
/// Calibration of an environment.
inline constexpr const char* kCalibrationRecord = "calibration";
/// What is known of one change of a series.
inline constexpr const char* kChangeRecord = "change";
/// Comparison, kept with the candidate's run.
inline constexpr const char* kComparisonRecord = "comparison";
/// Confirmation of a comparison's suspects by pairs.
inline constexpr const char* kConfirmationRecord = "confirmation";
/// Load of a model by one scenario.
inline constexpr const char* kLoadRecord = "load";
/// Results of all models of a run, so that a matrix reads one record a run.
inline constexpr const char* kModelResultsRecord = "model_results";
/// Noise study.
inline constexpr const char* kNoiseRecord = "noise";
/// Execution by one process of a paired round.
inline constexpr const char* kPairedExecutionRecord = "paired_execution";
/// Qualification, kept with the candidate's run.
inline constexpr const char* kQualificationRecord = "qualification";
/// Times of a run's processes.
inline constexpr const char* kRunTimesRecord = "run_times";
/// What-ifs of a model.
inline constexpr const char* kWhatIfRecord = "whatif";

/// Ceilings of the machine, measured once per environment.
struct Calibration {
  FlopsPerSecond peak_f32;          ///< best GEMM seen, one run's threads
  FlopsPerSecond peak_bf16;         ///< zero: the machine has no faster bf16
  BytesPerSecond memory_bandwidth;  ///< beyond the last-level cache: best of copy, triad and read
  Bytes last_level_cache;
  Seconds floor{};  ///< an empty program
  Seconds timer_tick{};
  double parallel_efficiency =
      1.0;  ///< speed of all threads over so many times that of one; 1 for one thread
  std::optional<FlopsPerSecond> theoretical_f32;  ///< from clock and ISA, when known
  std::optional<FlopsPerSecond> peak_f16;         ///< of products of f16; absent: not known
  std::optional<FlopsPerSecond> peak_tf32;        ///< of products of f32 in TF32; absent: not known
  std::optional<FlopsPerSecond> peak_int8;        ///< of products of 8-bit integers: two operations
                                                  ///< a multiply-add; absent: not known
};

/// Function of a user's Python file that builds a model and example inputs of it.
struct ModelCode {
  std::filesystem::path file;  ///< absolute
  std::string function;
  std::string sha256{};  ///< of the file when the model was exported

  bool operator==(const ModelCode&) const = default;
};

}  // namespace plumb::results
