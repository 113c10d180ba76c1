// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analysis/coschedule/thread_scaling.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Reads the newest times of keys with fewer threads than a run has. They come from runs whose
/// environments equal the run's but for `threads`. None for a run on a GPU, which its layers do not
/// share by threads.
[[nodiscard]] analysis::ThreadScaling read_scaling(const store::Store& store,
                                                   const results::RunHeader& run,
                                                   std::span<const model::LayerKey> keys);

}  // namespace plumb::session
