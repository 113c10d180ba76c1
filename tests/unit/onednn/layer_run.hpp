// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/model/layer_spec.hpp"
#include "harness/worker/backend.hpp"

namespace plumb::onednn {

/// Makes a key canonical: tests write reals and orders as they read best.
[[nodiscard]] LayerKey key_of(const LayerSpec& spec);

/// Makes operands of a spec out of numbers: seeded, non-zero, of both signs; `positive` for
/// variances.
[[nodiscard]] std::vector<Tensor> random_operands(const LayerSpec& spec, unsigned seed);

/// Makes an f32 tensor.
[[nodiscard]] Tensor f32_tensor(const std::vector<std::int64_t>& dims,
                                const std::vector<float>& values);

/// Runs one variant once on given operands; fails the test, with the reason, if there is none.
[[nodiscard]] std::vector<Tensor> run(Backend& backend,
                                      const LayerKey& key,
                                      const std::string& variant,
                                      const std::vector<Tensor>& operands);

/// Runs the first variant.
[[nodiscard]] std::vector<float> run_first(Backend& backend,
                                           const std::string& key,
                                           const std::vector<Tensor>& operands);

}  // namespace plumb::onednn
