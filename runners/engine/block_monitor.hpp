// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/results/attributes.hpp"

namespace plumb {

/// Observations of a device while a block was measured on it.
struct MonitoredBlock {
  Readings readings;
  bool disturbed = false;  ///< the device was held back: the block is to be measured again
  std::string fault;       ///< the device erred: nothing computed since can be believed; empty: no
};

/// Watches a device beside blocks of measurement.
class BlockMonitor {
 public:
  virtual ~BlockMonitor() = default;
  virtual void begin() = 0;
  /// Ends what begin() began.
  [[nodiscard]] virtual MonitoredBlock end() = 0;
};

}  // namespace plumb
