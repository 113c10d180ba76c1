// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace plumb::reporting {

/// Description of one model that a user can ask for.
struct ModelListing {
  std::string name;
  std::string source;
  std::string task;
  std::map<std::string, std::int64_t> axes;  ///< what varies beside the batch, and its standard
  std::string rounds;                        ///< MLPerf rounds; empty: none
  std::string deviations;                    ///< from the benchmark's model; empty: none
};

}  // namespace plumb::reporting
