// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyze/what_if.hpp"

namespace plumb {

/// Adds to each what-if what switching it on really brought, where the run executed the model end
/// to end both in the mode plain and in the what-if's mode.
///
/// Where both plans could be priced from their layers (`predicted` of that mode), these prices take
/// the place of the hot sums: what is compared is then what was executed. The error of a prediction
/// is |predicted − realised saving| ÷ the plain latency (DESIGN §4). Pure.
void add_realised_savings(const ModelBounds& model, ModelWhatIfs& whatifs);

}  // namespace plumb
