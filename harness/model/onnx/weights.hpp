// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace onnx {
class ModelProto;
}

namespace plumb::model {

/// Fills every weight of a weight-free model with seeded random values, so that any runtime can run
/// it. Filters and matrices are He-normal, scales and variances lie in [0.875, 1.125), and offsets
/// are small. Weights with data keep them. The same seed gives the same bytes on every machine.
///
/// Throws Error{kUser} for a weight that is not of type float, or if the model would not fit into
/// one file.
void fill_weights(onnx::ModelProto& model, std::uint64_t seed);

}  // namespace plumb::model
