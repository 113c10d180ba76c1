// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "harness/session/work/planned_model.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Numbers of keys to measure with a selection and without one.
struct SelectedLayers {
  std::size_t selected = 0;
  std::size_t all = 0;
};

/// Counts what a suite's selection leaves. Throws Error{kUser}, with the operators that there are,
/// for a wanted pattern that no layer matches, and if nothing is left.
[[nodiscard]] SelectedLayers selected_layers(std::span<const PlannedModel> models,
                                             const suite::ResolvedSuite& suite);

}  // namespace plumb::session
