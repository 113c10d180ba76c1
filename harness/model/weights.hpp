// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace onnx {
class ModelProto;
}

namespace plumb {

/// Fills every weight of a weight-free model with seeded random values, so that any runtime can
/// load and run it: He-normal for filters and matrices, scales and variances in [0.875, 1.125),
/// small offsets. Weights that have data keep it. Repeatable: same seed, same bytes on every
/// machine. Throws Error{kUser} for a weight that is not of type float, or when the model would not
/// fit into one file.
void fill_weights(onnx::ModelProto& model, std::uint64_t seed);

}  // namespace plumb
