// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plumb::analysis {

/// Pass over a data set in steps of one global batch. The last step is filled up with samples that
/// the set does not have, as MLPerf's closed division does it.
struct LastBatch {
  std::int64_t samples = 0;  ///< of the data set
  std::int64_t batch = 0;    ///< of all workers together
  std::int64_t steps = 0;
  std::int64_t wasted = 0;  ///< samples that fill up the last step

  /// Returns the wasted samples as a share of all that are computed.
  [[nodiscard]] double share() const {
    return static_cast<double>(wasted) / static_cast<double>(samples + wasted);
  }
};

/// Counts the steps of a pass. Throws Error{kUser} unless both numbers lie from 1 to 10¹².
[[nodiscard]] LastBatch last_batch(std::int64_t samples, std::int64_t batch);

/// Lists the global batches from `from` to `to` that waste least, the smallest share first. They
/// are multiples of `multiple`: what one worker takes. Throws Error{kUser} for an empty range, and
/// for more than ten million candidates.
[[nodiscard]] std::vector<LastBatch> least_wasteful_batches(std::int64_t samples,
                                                            std::int64_t from,
                                                            std::int64_t to,
                                                            std::int64_t multiple,
                                                            std::size_t most);

}  // namespace plumb::analysis
