// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/store/store.hpp"

namespace plumb {

/// Stores what a run has measured beside its rows: a derived record that rests on no rows, made by
/// this version of the analysis, now.
void put_run_record(Store& store,
                    const RunId& run,
                    const std::string& kind,
                    const std::string& subject,
                    const std::string& payload);

}  // namespace plumb
