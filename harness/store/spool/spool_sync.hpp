// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/store/spool/spool_file.hpp"
#include "harness/store/store.hpp"
#include "harness/store/tables/table_store.hpp"

namespace plumb::store {

/// Sends the writes of a spool to a store that has retaken their run, in order, and drops each once
/// it is committed. A write that the store has already changes nothing, and one of
/// shared work that another process has by now is left out. Returns the number of rows
/// sent. Throws ServerAway if the server goes away; then the rest stays.
std::size_t replay(SpoolFile& spool, TableStore& store);

/// Sends the spools of dead processes to the store that they are for, and removes those that are
/// sent. Throws ServerAway if the server goes away meanwhile.
std::vector<SpooledRun> sync_spools_of(const std::filesystem::path& folder,
                                       const std::string& url,
                                       TableStore& server);

}  // namespace plumb::store
