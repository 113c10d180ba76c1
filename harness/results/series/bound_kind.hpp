// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

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

}  // namespace plumb::results
