// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"

namespace plumb::analysis {

/// One mode of a model: its bound, its estimate and its measured time.
struct ModeSummary {
  std::string mode;
  std::optional<Seconds> bound;              ///< of the library; absent: none holds, or incomplete
  std::optional<Seconds> predicted;          ///< absent: none, or incomplete
  const ExecutionTime* execution = nullptr;  ///< of the summarised bounds; null: not executed

  [[nodiscard]] std::optional<Seconds> measured() const;
  /// Returns the measured time ÷ the bound.
  [[nodiscard]] std::optional<double> gap() const;
};

/// What a model takes now, what its fastest mode takes, and what limits it. It refers to the bounds
/// that it summarises.
struct ModelSummary {
  std::optional<Seconds> now;            ///< end to end, as the library executes it by default
  const ModeSummary* fastest = nullptr;  ///< measured with the model's own layers, faster than now
  std::optional<Seconds> library;        ///< the least complete bound of the library
  std::optional<Seconds> hardware;       ///< absent: not known, or incomplete
  std::vector<ModeSummary> modes;        ///< plain, fusion, then in the order executed

  ModelSummary() = default;
  ModelSummary(ModelSummary&&) noexcept = default;
  ModelSummary& operator=(ModelSummary&&) noexcept = default;
  ModelSummary(const ModelSummary&) = delete;  // `fastest` points into `modes`
  ModelSummary& operator=(const ModelSummary&) = delete;
  ~ModelSummary() = default;
};

[[nodiscard]] ModelSummary summarize(const ModelBounds& model);

}  // namespace plumb::analysis
