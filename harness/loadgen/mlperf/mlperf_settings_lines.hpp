// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/loadgen/load_settings.hpp"
#include "harness/loadgen/mlperf/mllog_lines.hpp"

namespace plumb::loadgen {

/// Adds LoadGen's keys `requested_*`. A value that was not asked for is LoadGen's own "none", else
/// null. The percentile is that of the effective load.
void add_requested_settings(MllogLines& log, const RequestedLoad& asked, const EffectiveLoad& load);

/// Adds LoadGen's keys `effective_*`.
void add_effective_settings(MllogLines& log, const EffectiveLoad& load);

}  // namespace plumb::loadgen
