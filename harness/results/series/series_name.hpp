// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/loadgen/load_settings.hpp"

namespace plumb::results {

/// Kind of a bound or an estimate of a model. docs/reference/bounds.md defines them.
enum class BoundKind {
  kHardware,
  kHardwareUpdate,
  kLibrary,
  kLibraryParallel,
  kPredicted,
  kLayerSum,
  kSequential,
  kCriticalPath,
  kOccupancy,
  kSchedule,
  kBenanzaSequential,
  kBenanzaParallel,
};

/// Returns the text of a kind in reports, series and exports: "library_parallel".
[[nodiscard]] std::string_view to_text(BoundKind kind);
[[nodiscard]] std::optional<BoundKind> parse_bound_kind(std::string_view text);

/// Name of a series, which is a quantity that runs measure again and again. Stores, reports and
/// exports have its text. A subject may contain slashes: it is a file.
struct SeriesName {
  /// Turn of a shape among those of its model that alternate: what was executed before it.
  enum class Turn {
    kFirst,    ///< nothing of this shape: the very first execution in its process
    kSteady,   ///< the same shape
    kChanged,  ///< another shape
  };

  /// What a series is of.
  enum class Kind {
    kLayer,          ///< "layers/KEY": a layer, as the library chose it
    kCapability,     ///< "capability/KEY": its fastest variant
    kLayerAccuracy,  ///< "accuracy/KEY"
    kEndToEnd,       ///< "models/SUBJECT/end_to_end/MODE/SCENARIO"
    kAccuracy,       ///< "models/SUBJECT/accuracy/MODE/SCENARIO"
    kLoad,           ///< "models/SUBJECT/load/MODE/SCENARIO"
    kAlternation,    ///< "models/SUBJECT/alternation/MODE/TURN": among other shapes of the model
    kBound,          ///< "models/SUBJECT/KIND/MODE": a bound of this kind
    kOther           ///< a cost, a control, or a series of another program
  };

  Kind kind = Kind::kOther;
  std::string subject;  ///< a layer's key; a model with batch and type: "lenet|1|f32"
  std::optional<BoundKind> bound;
  std::string mode;      ///< of a model
  std::string scenario;  ///< of a model, not of a bound; of a shape among others, its turn
};

inline constexpr std::array kShapeTurns{
    SeriesName::Turn::kFirst, SeriesName::Turn::kSteady, SeriesName::Turn::kChanged};

[[nodiscard]] std::string_view to_text(SeriesName::Turn turn);  ///< "first", "steady", "changed"

[[nodiscard]] std::optional<SeriesName::Turn> parse_shape_turn(std::string_view text);

/// Reads the name of a series. One of no known kind is kOther.
[[nodiscard]] SeriesName parse_series(std::string_view text);

/// Returns the names of the series of a layer: of the library's choice, of its fastest variant, and
/// of the output.
[[nodiscard]] std::string layer_series(std::string_view key);
[[nodiscard]] std::string capability_series(std::string_view key);
[[nodiscard]] std::string accuracy_series(std::string_view key);

/// Returns the name of a model's series of kind kEndToEnd, kAccuracy or kLoad.
[[nodiscard]] std::string model_series(std::string_view subject,
                                       SeriesName::Kind kind,
                                       std::string_view mode,
                                       loadgen::ScenarioName scenario);
[[nodiscard]] std::string alternation_series(std::string_view subject,
                                             std::string_view mode,
                                             SeriesName::Turn turn);
[[nodiscard]] std::string bound_series(std::string_view subject,
                                       BoundKind bound,
                                       std::string_view mode);

/// Returns the name of a model's time in a qualification, which has no scenario. It stores the
/// first, "models/SUBJECT/MODE", and shows the second, "models/SUBJECT/end_to_end/MODE".
[[nodiscard]] std::string qualified_series(std::string_view subject, std::string_view mode);
[[nodiscard]] std::string shown_series(std::string_view subject, std::string_view mode);
/// Returns what follows the subject in a series of a model. Empty: the series is none of it.
[[nodiscard]] std::string_view behind_subject(std::string_view text, std::string_view subject);

/// Returns whether a series is of a layer as the library chose it.
[[nodiscard]] bool is_layer_series(std::string_view text);
/// Returns whether a series is of a model: a time, a bound, a load or an output.
[[nodiscard]] bool is_model_series(std::string_view text);

/// Returns the names by which a series can be excluded: its own, a layer's key, or a model's
/// subject without and with its mode.
[[nodiscard]] std::vector<std::string> case_names(const std::string& series);

}  // namespace plumb::results
