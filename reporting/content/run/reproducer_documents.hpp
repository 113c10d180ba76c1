// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "harness/model/key/layer_key.hpp"
#include "harness/results/environment.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::reporting {

/// Writes the README.md of a reproducer, for the readers of a bug report. It has the key, what was
/// measured on what, with intervals, how to measure it with plumb, and `instructions` (Markdown).
void write_reproducer_readme(const model::LayerKey& key,
                             std::span<const results::Measurement> rows,
                             const results::Environment& environment,
                             const std::string& stack,
                             const std::string& instructions,
                             std::ostream& out);

}  // namespace plumb::reporting
