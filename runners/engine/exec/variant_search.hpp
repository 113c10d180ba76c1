// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/measure/sampler.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/execute_request.hpp"

namespace plumb::engine {

/// Chooses the variants of a mode's steps that together take the least time.
///
/// A set of variants costs the layers' times alone plus the price of the reorders that the backend
/// plans between them. The backend itself plans every set that is tried. These sets are tried:
///
/// - none named, which is the library's own choices
/// - every key's fastest variant
/// - for each layout (`layout=…` in the variant's text), every key's fastest variant in it
/// - from the best of these, other variants key by key, the key with most to gain first, until
///   nothing gets better
///
/// A variant is tried only if it is at least 3% faster alone than the library's choice, and at most
/// four of a key are. After two seconds of `clock` no further set is tried, so that the result need
/// not be the optimum. A step with one choice has it in every set. Keys that are missing in the
/// result are left to the library.
[[nodiscard]] worker::LayerVariants chosen_variants(worker::Backend& backend,
                                                    const model::Graph& graph,
                                                    const worker::ModeRequest& request,
                                                    const measure::Clock& clock);

}  // namespace plumb::engine
