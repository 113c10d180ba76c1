// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "harness/model/key/tensor.hpp"
#include "harness/worker/protocol/backend.hpp"

namespace plumb::onednn {

/// Tells whether the library computes in bf16 on this CPU: with AVX-512 or newer.
[[nodiscard]] bool has_bf16(const worker::Backend& backend);

/// Makes an f32 tensor.
[[nodiscard]] model::Tensor f32_tensor(const std::vector<std::int64_t>& dims,
                                       const std::vector<float>& values);

/// Runs one variant once on given operands; fails the test, with the reason, if there is none.
[[nodiscard]] std::vector<model::Tensor> run(worker::Backend& backend,
                                             const model::LayerKey& key,
                                             const std::string& variant,
                                             const std::vector<model::Tensor>& operands);

/// Runs the first variant.
[[nodiscard]] std::vector<float> run_first(worker::Backend& backend,
                                           const std::string& key,
                                           const std::vector<model::Tensor>& operands);

}  // namespace plumb::onednn
