// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/unit/cuda/host_kernels.hpp"

namespace plumb::cuda {

/// Returns the keys of the contract, and others beside them: types, ranks and modes that it leaves
/// out.
[[nodiscard]] std::vector<std::string> builtin_keys();

/// Returns those of the keys that built-in kernels execute, each in both layouts, with operands.
[[nodiscard]] std::vector<HostLayer> builtin_layers();

}  // namespace plumb::cuda
