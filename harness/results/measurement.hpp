// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/base/units.hpp"
#include "harness/measure/disturbance.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/model/key/layer_key.hpp"
#include "harness/results/attributes.hpp"
#include "harness/results/outcome.hpp"

namespace plumb::results {

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

}  // namespace plumb::results
