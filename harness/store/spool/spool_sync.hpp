// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/store/store.hpp"
#include "harness/store/tables/table_store.hpp"

namespace plumb::store {

/// Sends the spools of dead processes to the store that they are for, and removes those that are
/// sent. Throws ServerAway if the server goes away meanwhile.
std::vector<SpooledRun> sync_spools_of(const std::filesystem::path& folder,
                                       const std::string& url,
                                       TableStore& server);

}  // namespace plumb::store
