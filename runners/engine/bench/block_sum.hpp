// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/results/measurement.hpp"

namespace plumb::engine {

/// Appends one block of samples to those of a row. The summary stays as it is.
void append_block(const results::Measurement& block, results::Measurement& row);

/// Adds one block of samples to those of a row. The first quiet block discards the disturbed blocks
/// before it, and disturbed blocks after it are ignored. The summary stays as it is.
void add_block(const results::Measurement& block, results::Measurement& row);

}  // namespace plumb::engine
