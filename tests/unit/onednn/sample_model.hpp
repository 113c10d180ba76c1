// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runners/engine/exec/ready_model.hpp"
#include "tests/support/sample_model.hpp"

namespace plumb::onednn {

/// Executes a sample once on the CPU.
[[nodiscard]] engine::ReadyModel executed(const Sample& sample,
                                          const worker::ModeRequest& mode = {});

/// Executes a sample in a mode and compares all outputs with the float64 reference, layer by layer.
engine::ReadyModel expect_right(const Sample& sample, const worker::ModeRequest& mode);

/// The same for the modes plain and fusion; returns the number of reorders of plain.
std::size_t expect_right(const Sample& sample);

}  // namespace plumb::onednn
