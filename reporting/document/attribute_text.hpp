// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/results/attributes.hpp"

namespace plumb::reporting {

/// Returns what a backend says of a row on one line: "engine 62 · tensor_cores yes · power_watts
/// 310 (309 to 312)". Of long texts it has only the length. Empty: the backend says nothing.
[[nodiscard]] std::string attribute_text(const results::Attributes& attributes,
                                         const results::Readings& readings);

}  // namespace plumb::reporting
