// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/results/attributes.hpp"
#include "harness/results/environment.hpp"

namespace plumb::analysis {

/// Computes the waves in which a GPU executes the thread blocks of a row's largest kernel. They are
/// its blocks ÷ those that all multiprocessors hold at once, by threads, registers and shared
/// memory. cuBLASLt's own count goes first. Absent: the row names no kernels, or the architecture
/// is not in the table.
[[nodiscard]] std::optional<double> count_waves(const results::Attributes& row,
                                                const results::Environment& environment);

}  // namespace plumb::analysis
