// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/measure/sampler.hpp"
#include "harness/worker/backend.hpp"
#include "harness/worker/execute_request.hpp"

namespace plumb {

/// Chooses, of the choices of a mode's steps, the variants that take least together: the layers'
/// times alone, and the price of the reorders that the backend plans between them.
///
/// Every set of variants tried is planned by the backend itself. Tried are: none named (the
/// library's own choices), every key's fastest, of each layout (`layout=…` in the variant's text)
/// every key's fastest; then, from the best of these, other variants key by key, the key with most
/// to gain first, until nothing gets better. A variant is tried only if it is at least 3% faster
/// alone than what the library chooses. Not necessarily the optimum. After two seconds of `clock`
/// no further set is tried. A step with one choice has it in every set; keys that are missing in
/// the result are left to the library.
[[nodiscard]] LayerVariants chosen_variants(Backend& backend,
                                            const Graph& graph,
                                            const ModeRequest& request,
                                            const Clock& clock);

}  // namespace plumb
