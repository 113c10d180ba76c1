// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/loadgen/load_settings.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/exclusion.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/run.hpp"
#include "harness/suite/extent_range.hpp"

namespace plumb::suite {

/// One way to load a model end to end, with its limits and settings.
struct Scenario {
  /// Limits that a scenario must keep for its result to count. An absent limit does not limit.
  struct Limits {
    std::optional<double> percentile;    ///< of the latencies, in %: 99
    std::optional<Seconds> latency;      ///< of a query
    std::optional<Seconds> first_token;  ///< of a query, until its first token
    std::optional<Seconds> per_token;    ///< of every later token, on average over a query

    auto operator<=>(const Limits&) const = default;
  };

  /// Settings for loading a model in a scenario. An absent setting takes MLPerf's value.
  struct Settings {
    std::optional<Seconds> duration;            ///< fixed: ends the run whatever the count
    std::optional<Seconds> minimum_duration;    ///< 600 s; not beside `duration`
    std::optional<double> target_rate;          ///< queries a second; server: searched for
    std::optional<std::int64_t> maximum_batch;  ///< samples; 1, of multi_stream 8
    std::optional<Seconds> batch_timeout;       ///< how long a sample waits for company: not at all
    std::optional<std::int64_t> lanes;          ///< batches executed at a time: 1

    auto operator<=>(const Settings&) const = default;
  };

  loadgen::ScenarioName name = loadgen::ScenarioName::kSingleStream;
  Limits limits;
  Settings settings{};

  auto operator<=>(const Scenario&) const = default;
};

/// Returns the percentile that MLPerf Inference reports or limits. It is 90 for single_stream, 99
/// for multi_stream, server and interactive, and absent for offline.
[[nodiscard]] std::optional<double> standard_percentile(loadgen::ScenarioName scenario);

/// Writes a scenario in a few words: "server (99 %: latency 15 ms)".
[[nodiscard]] std::string to_text(const Scenario& scenario);

/// Parses a duration: "15ms", "90s", "10m", "2h", "7d". The units are us, ms, s, m, h and d. Throws
/// Error{kUser}.
[[nodiscard]] Seconds parse_duration(std::string_view text);

/// Element types that a suite may ask for.
inline constexpr std::array<std::string_view, 6> kSuiteDtypes{
    "f32", "bf16", "f16", "f64", "int8", "tf32"};

/// Word of a suite for a model that is not trained.
inline constexpr std::string_view kNoTraining = "none";

/// Orders in which the shapes of a model alternate, and how many shapes do.
inline constexpr std::array<std::string_view, 2> kShapeOrders{"in_turn", "drawn"};
inline constexpr std::size_t kMaxShapes = 16;

/// Checks what a suite asks of a model: kNoTraining, or a step of training as
/// rewrite::parse_step_choice() reads it. Throws Error{kUser}.
void check_training(const std::string& text);
/// Checks the name of a loss, and the names of frozen weights. Throws Error{kUser}.
void check_loss(const std::string& text);
void check_frozen(const std::string& text);

/// Suite as written: only what the file says, with line numbers for messages.
struct SuiteSpec {
  /// One `[[layers]]` table of a shapes file.
  struct ShapesRow {
    int line = 0;
    model::LayerKey key;     ///< canonical: parsed and written again
    std::int64_t count = 1;  ///< occurrences
  };

  struct Defaults {
    std::optional<std::vector<std::int64_t>> batch;
    std::optional<std::vector<std::string>> dtype;
    std::optional<std::vector<std::string>> training;
    std::optional<std::string> loss;                 ///< of steps of training
    std::optional<std::vector<std::string>> freeze;  ///< likewise, as rewrite::frozen_values();
                                                     ///< "none": nothing
    std::optional<std::vector<std::string>> cache;
    std::optional<std::vector<loadgen::ScenarioName>> scenario;
  };
  struct ModelEntry {
    int line = 0;  ///< 0: of no file
    std::optional<std::string> name;
    std::optional<std::filesystem::path> path;
    std::optional<results::ModelCode> code;  ///< of no file: `path` was exported from it, and the
                                             ///< model has the name
    bool rebatch = false;  ///< of a file: the batch replaces first dimensions that it fixes
    Defaults overrides;
    std::vector<std::vector<std::int64_t>> shapes{};  ///< of the first input, in place of batch and
                                                      ///< dims; none, or 2 to kMaxShapes
    std::string shape_order = "in_turn";              ///< one of kShapeOrders
    std::map<std::string, std::vector<ExtentRange>> dims;          ///< dim.sequence = [128, 384]
    std::map<loadgen::ScenarioName, Scenario::Limits> limits;      ///< [model.server]
    std::map<loadgen::ScenarioName, Scenario::Settings> settings;  ///< likewise
    std::optional<std::string> note;
  };
  struct LayersEntry {
    int line = 0;
    std::filesystem::path file;
  };

  std::filesystem::path file;
  std::string name;
  std::int64_t version = 1;
  std::optional<std::string> reuse;
  std::optional<std::string> budget;
  Defaults defaults;
  std::vector<ModelEntry> models;
  std::vector<LayersEntry> layers;
  std::vector<results::Exclusion> exclusions;  ///< [[exclude]]
};

/// Reads a suite file. Unknown keys are errors that name the line and the nearest known key. Throws
/// Error{kUser}: "suites/mine.toml:7: unknown key 'dtyp' in [defaults]; did you mean 'dtype'?".
[[nodiscard]] SuiteSpec read_suite(const std::filesystem::path& file);

/// Suite with every default explicit and every range expanded. This is what runs. It can be printed
/// as JSON, and is hashed.
struct ResolvedSuite {
  /// Rule for when an earlier measurement may replace a new one.
  struct Reuse {
    enum class Kind { kNever, kMaxAge, kAlways };
    Kind kind = Kind::kAlways;
    Seconds max_age{};

    auto operator<=>(const Reuse&) const = default;
  };

  /// Choice of a suite's layers by patterns, in which '*' stands for any characters.
  struct Selection {
    std::vector<std::string> wanted{};    ///< none: all layers
    std::vector<std::string> excluded{};  ///< of the wanted ones

    [[nodiscard]] bool empty() const { return wanted.empty() && excluded.empty(); }
  };

  /// Place of a model among those of its shapes that are executed one after the other.
  struct Alternation {
    std::int64_t group = 0;           ///< the same for all shapes that alternate
    std::string order = "in_turn";    ///< one of kShapeOrders
    std::vector<std::int64_t> shape;  ///< of the first input
  };

  struct Model {
    std::string name;                           ///< zoo name, or the file's stem
    std::optional<std::filesystem::path> path;  ///< absolute; absent: from the zoo
    std::optional<results::ModelCode> code{};   ///< what `path` was exported from
    std::int64_t batch = 1;
    std::string dtype = "f32";
    std::string training{};  ///< of a step of training: optimiser, loss and what is frozen, as
                             ///< rewrite::parse_step_choice() reads it; empty: inference
    std::map<std::string, std::int64_t> dims;
    std::vector<Scenario> scenarios;
    std::optional<Alternation> alternation{};  ///< absent: it is executed in no other shape
    std::string note;         ///< what a reader of its results must know; may be empty
    bool rebatch = false;     ///< of a file: `batch` replaces first dimensions that it fixes
    bool open_batch = false;  ///< of a file: nobody asked for a batch, so a fixed one of the file
                              ///< counts, and `batch` is that of an open one
  };

  std::string name;
  std::int64_t version = 1;
  Reuse reuse;
  std::optional<Seconds> budget;
  std::vector<results::CacheMode> caches{results::CacheMode::kNone, results::CacheMode::kWeights};
  std::vector<Model> models;
  std::vector<model::ListedLayer> layers;
  Selection selection;                         ///< part of the JSON where it is not empty
  std::vector<results::Exclusion> exclusions;  ///< no part of the JSON: they change nothing that is
                                               ///< measured
};

/// Parses "never", "always", or "max_age:7d" with any duration. Throws Error{kUser}.
[[nodiscard]] ResolvedSuite::Reuse parse_reuse(std::string_view text);

[[nodiscard]] std::string to_text(const ResolvedSuite::Reuse& policy);

/// Function that completes the extents of axes that the suite leaves open, which only the model's
/// builder knows, and those by which the first input has a shape that alternates. Throws
/// Error{kUser} if there is no such model or axis. resolve() adds file and line.
using ModelCompletion = std::function<void(ResolvedSuite::Model& model)>;

/// Fills in all defaults of a suite and expands its ranges. The defaults are batch 1, f32, caches
/// none and weights, reuse always, no scenario and the standard percentiles. Reads the shapes files
/// that the suite names, relative to its folder. Throws Error{kUser} with file and line for a bad
/// step, a model listed twice, more than 10,000 entries, and what `complete` refuses.
[[nodiscard]] ResolvedSuite resolve(const SuiteSpec& spec, const ModelCompletion& complete = {});

/// Writes the resolved suite as canonical JSON with sorted keys, which is stored and hashed.
[[nodiscard]] std::string to_json(const ResolvedSuite& suite);

/// Reads a shapes file: `[[layers]]` tables with a `key` and, if not 1, a `count`. Throws
/// Error{kUser} with file and line for anything else, and for a key that does not parse.
[[nodiscard]] std::vector<SuiteSpec::ShapesRow> read_shapes(const std::filesystem::path& file);

/// Parses the value of an option: numbers and ranges, separated by commas. "1,8", "128..1024" (by
/// "x2"), "128..1024:+64", and what a suite says: `{from = 128, to = 1024, step = "x2"}`.
///
/// Throws Error{kUser} that begins with `name` for anything else, and for numbers outside of 1 to
/// `maximum`.
[[nodiscard]] std::vector<ExtentRange> parse_ranges(std::string_view text,
                                                    const std::string& name,
                                                    std::int64_t maximum);

}  // namespace plumb::suite
