// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/worker/backend.hpp"
#include "harness/worker/execute_request.hpp"

namespace plumb {

/// Is a whole model with its weights and inputs in place, executed once.
struct ReadyModel {
  Outcome outcome;         ///< not ok: why there is no program, or what is wrong with its result
  PreparedModel prepared;  ///< slot 0 bound
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  Seconds first_call{};
};

/// Reads, plans, fills and executes a model once. Weights without data are filled by the seed as
/// `plumb model export --weights` fills them; its memory is checked before anything is allocated.
/// An output that is infinite or not a number is kWrongResult. Throws Error{kUser} for a model that
/// is not usable, std::bad_alloc.
[[nodiscard]] ReadyModel make_ready(Backend& backend,
                                    const ExecuteRequest& request,
                                    const Clock& clock);

}  // namespace plumb
