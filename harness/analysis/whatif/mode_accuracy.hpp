// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace plumb::analysis {

/// Returns the accuracy class of a mode of execution: "same", or the type in which it computes
/// ("bf16", "f16", "tf32", "int8"). "same" keeps the types. It may order sums differently, or use
/// another algorithm. Without a mode it is "same", too.
[[nodiscard]] std::string accuracy_class(std::string_view execution_mode);

}  // namespace plumb::analysis
