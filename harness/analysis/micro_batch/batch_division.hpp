// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/results/division/divided_variant.hpp"

namespace plumb::analysis {

/// Lists the sizes of parts that a policy allows, ascending.
[[nodiscard]] std::vector<std::int64_t> batch_sizes(results::BatchPolicy policy,
                                                    std::int64_t batch);

/// One way to execute a layer on a part of a batch.
struct PartKernel {
  std::int64_t batch = 1;
  Seconds time{};
  Bytes workspace;
  std::string variant;
};

/// Division of a batch into parts that are executed one after the other. They share a workspace.
struct BatchDivision {
  std::vector<PartKernel> parts;  ///< largest first
  Seconds time{};                 ///< the sum
  Bytes workspace;                ///< the largest
};

/// Finds the fastest division of a batch whose parts all keep the workspace within `cap`. Kernels
/// say which sizes there are. This is the dynamic programme WR of µ-cuDNN (arXiv 1804.04806,
/// section 3.2). Absent: no division fits.
[[nodiscard]] std::optional<BatchDivision> fastest_division(std::span<const PartKernel> kernels,
                                                            std::int64_t batch,
                                                            Bytes cap);

/// Finds all divisions that are not beaten in both time and workspace, by ascending workspace and
/// so by descending time. This is the desirable set of WD (section 3.3).
[[nodiscard]] std::vector<BatchDivision> desirable_divisions(std::span<const PartKernel> kernels,
                                                             std::int64_t batch);

}  // namespace plumb::analysis
