// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/base/units.hpp"
#include "harness/measure/disturbance.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/model/key/layer_spec.hpp"

namespace plumb::results {

/// Outcome of an attempt to measure. A failure is a result with a reason, never a missing row.
struct Outcome {
  enum class Kind {
    kOk,
    kUnsupported,  ///< the library refuses this key or variant here
    kOutOfMemory,
    kWrongResult,  ///< differs from the reference: never timed into a bound
    kTimedOut,
    kCrashed,   ///< the worker died; the reason names the signal
    kUnstable,  ///< measured, but no interval tight enough could be had
    kSkipped,   ///< not attempted (budget, a reference implementation while others exist); the
                ///< reason says why
  };
  Kind kind = Kind::kOk;
  std::string reason;  ///< empty for kOk

  [[nodiscard]] bool ok() const { return kind == Kind::kOk; }
  /// Returns whether there is a time to use, as with kOk and kUnstable.
  [[nodiscard]] bool timed() const { return kind == Kind::kOk || kind == Kind::kUnstable; }
  auto operator<=>(const Outcome&) const = default;
};

[[nodiscard]] std::string_view to_text(
    Outcome::Kind kind);  ///< "ok", "unsupported", "out_of_memory", …
[[nodiscard]] std::optional<Outcome::Kind> parse_outcome_kind(std::string_view text);

/// Facts that a backend knows about the execution of a variant, by name: "engine", "plan"…
/// (docs/design/cuda.md). They are the same for each row of a variant in a stack on a device. What
/// differs from block to block is a reading.
using Attributes = std::map<std::string, std::string>;

/// Attribute of a row at which a device error was found, with what the device did. No row of that
/// run can be trusted.
inline constexpr const char* kDeviceFault = "device_fault";

/// Attribute of a row: warnings and errors that the runtime logged of it, one a line.
inline constexpr const char* kSessionLog = "session_log";
/// Attribute of a row: the nodes on the CPU, where the runtime was to execute them elsewhere.
inline constexpr const char* kCpuNodes = "cpu_nodes";

/// Attribute of the rows of a run that several processes share: the name of their host.
inline constexpr const char* kHost = "host";

/// Quantity observed beside a row, in the unit that its name ends with.
struct Reading {
  double median = 0.0;
  double low = 0.0;  ///< 95% interval of the median; below six values their range
  double high = 0.0;
  std::int64_t n = 1;  ///< number of values

  bool operator==(const Reading&) const = default;
};

/// Readings by name: "sm_clock_hertz", "energy_joules"… What was not read is absent.
using Readings = std::map<std::string, Reading>;

/// Summarises values in any order. Empty if there are none, or one is not finite.
[[nodiscard]] std::optional<Reading> summarize_reading(std::span<const double> values);

/// Limits of one row.
inline constexpr std::size_t kMaxAttributes = 64;     ///< and as many readings
inline constexpr std::size_t kMaxAttributeName = 64;  ///< bytes
inline constexpr std::size_t kMaxAttributeText = std::size_t{64} << 10;

/// Returns whether a name may be an attribute's: letters, digits, '_', '.' and '-', not empty, at
/// most kMaxAttributeName bytes.
[[nodiscard]] bool is_attribute_name(const std::string& name);

/// Returns the attributes without texts of more than `most` bytes. Rows of races are many, so they
/// do not keep long texts.
[[nodiscard]] Attributes short_attributes(const Attributes& attributes, std::size_t most);

/// Adds the readings of another block of the same executions. If both have a name, the median is
/// the mean of both, weighted by n. The interval spans both intervals, and n is the sum.
void add_readings(Readings& sum, const Readings& block);

/// Cache modes: the buffers that are warm when a layer is timed (docs/reference/measurement.md).
enum class CacheMode {
  kNone,     ///< hot: the same buffers again and again; for bounds
  kWeights,  ///< activations warm, weights cold: closest to a network; for predictions
  kAll,      ///< everything cold
};
[[nodiscard]] std::string_view to_text(CacheMode mode);  ///< "none", "weights", "all"
[[nodiscard]] std::optional<CacheMode> parse_cache_mode(std::string_view text);

/// Reasons why a row was measured. Only kFull and kConfirm rows are compared with others. kRace
/// rows only eliminate variants.
enum class Purpose {
  kRace,     ///< a few milliseconds, to drop slow variants
  kFull,     ///< the full method
  kConfirm,  ///< the full method again, in a fresh process: what is stored as the best (winner's
             ///< curse)
};
[[nodiscard]] std::string_view to_text(Purpose purpose);
[[nodiscard]] std::optional<Purpose> parse_purpose(std::string_view text);

/// Row of one variant of one key in one worker process: timed, or not, and why.
struct Measurement {
  /// Fastest pace of a host, over the rows of several processes.
  class FastestPace {
   public:
    /// Adds the pace of a row, if it has one.
    void take_in(const Measurement& row);
    /// Returns the pace that a twentieth of the rows reached, so that no single reading decides.
    /// Absent if no row has a pace.
    [[nodiscard]] std::optional<Seconds> seconds() const;

   private:
    std::vector<double> sorted_;
  };

  model::LayerKey key;
  std::string variant;  ///< canonical: "impl=brgconv:avx512_core;layout=any;algorithm=direct";
                        ///< empty: none tried
  bool library_choice = false;            ///< what the library picks when it is asked for nothing
  bool reference_implementation = false;  ///< the library fell back to its slow reference
  CacheMode cache = CacheMode::kNone;
  Purpose purpose = Purpose::kFull;
  Outcome outcome;

  std::vector<Seconds> samples;  ///< raw, per execution, not floor-corrected, in time order
  std::vector<Seconds> turns;    ///< medians of the samples of each turn beside another worker; not
                                 ///< stored
  std::int64_t repetitions = 1;  ///< executions in each sample
  measure::SampleSummary summary;  ///< of `samples`: raw seconds
  Seconds floor{};  ///< cost of the harness per execution, at these repetitions; subtracted by
                    ///< corrected()

  std::optional<Seconds> creation;  ///< making the primitive, cache cold
  std::optional<Seconds> first_call;
  std::optional<Seconds> reorder;       ///< bringing operands into this variant's layouts and back
  Bytes workspace;                      ///< scratchpad
  std::optional<double> maximum_error;  ///< relative to max|reference|
  std::string output_hash;              ///< of the output's bytes; empty if not computed
  measure::Disturbance disturbance;
  std::int64_t attempt = 1;  ///< counts repetitions of the block on a disturbed host
  std::int64_t process = 0;  ///< which worker process of the run (replication)
  Timestamp started{};
  Seconds wall{};           ///< everything this row cost
  Attributes attributes{};  ///< of the variant; those of a race's row are short
  Readings readings{};      ///< of this row's executions

  /// Returns the summary less the floor: median, interval, min, p90 and mean, none below zero.
  [[nodiscard]] measure::SampleSummary corrected() const;
};

/// Reading of a row that shows how fast the processor was beside it, in seconds. `low` and `high`
/// are the times of a fixed piece of work right before and after the block, and the median is their
/// mean.
inline constexpr const char* kHostPace = "host_pace_seconds";

/// Ratio to the fastest pace from which on a host counts as slow. On one virtual machine the pace
/// was within 1 % of its fastest where code beside it was fast. A neighbour on the core made it 1.5
/// to 1.8 times as long.
inline constexpr double kSlowPace = 1.10;

/// Largest number of samples in one row that is stored or read.
inline constexpr std::size_t kMaxStoredSamples = std::size_t{1} << 20U;

/// Encodes raw samples compactly: usually two bytes a sample. No samples: an empty string.
///
/// The product sample × repetitions is the time of the whole batch, which the clock measured. It is
/// rounded to whole nanoseconds where all products are such (a nanosecond clock), else to steps of
/// 10 ps. A decoded sample is therefore within 5 ps ÷ repetitions of the original.
///
/// The layout is:
/// - one byte for the step ('n': 1 ns, 'p': 10 ps)
/// - the count as a varint (LEB128)
/// - the first product, then each difference to the one before, as zigzag varints
/// - the low 32 bits of XXH64 of all that, little-endian
///
/// Throws Error{kInternal} for a sample that is not finite, a product beyond ±10^7 s, repetitions
/// below one, or more than kMaxStoredSamples.
[[nodiscard]] std::string encode_samples(std::span<const Seconds> samples,
                                         std::int64_t repetitions);

/// Decodes what encode_samples wrote for the same repetitions. Absent if the bytes are anything
/// else: truncated, altered, with too many samples or bytes left over. Never reads beyond `bytes`.
[[nodiscard]] std::optional<std::vector<Seconds>> decode_samples(std::string_view bytes,
                                                                 std::int64_t repetitions);

}  // namespace plumb::results
