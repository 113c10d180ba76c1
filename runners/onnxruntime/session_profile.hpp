// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/results/attributes.hpp"

namespace plumb::onnxruntime {

/// Reads which nodes a session executed, each once, from its profile in Chrome's trace format.
///
/// Returns "nodes", and "operators" and "providers" with the nodes of each: "Conv:53,Relu:49". If
/// they were to be executed `elsewhere` than on the CPU, results::kCpuNodes names those that fell
/// back to it. Empty: the profile has no node.
[[nodiscard]] results::Attributes read_session_profile(std::istream& profile, bool elsewhere);

}  // namespace plumb::onnxruntime
