// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/store/store.hpp"

namespace plumb::session {

/// Stores a derived record that a run has beside its rows. It rests on no rows, and has this
/// version of the analysis and the present time. A record of shared work that another process has
/// by now is left out.
void put_run_record(store::Store& store,
                    const results::RunId& run,
                    const std::string& kind,
                    const std::string& subject,
                    const std::string& payload);

}  // namespace plumb::session
