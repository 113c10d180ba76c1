// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/results/attributes.hpp"

namespace plumb::engine {

/// Observations of a device while a block was measured on it.
struct MonitoredBlock {
  results::Readings readings;
  bool disturbed = false;  ///< the device was held back: the block must be measured again
  std::string fault;       ///< the device's error, which invalidates all later results; empty: none
};

/// Observer of a device during blocks of measurement.
class BlockMonitor {
 public:
  virtual ~BlockMonitor() = default;
  virtual void begin() = 0;
  /// Ends the observation that begin() started.
  [[nodiscard]] virtual MonitoredBlock end() = 0;
};

}  // namespace plumb::engine
