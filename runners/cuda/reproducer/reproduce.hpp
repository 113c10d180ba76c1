// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/worker/reproducer.hpp"

namespace plumb::cuda {

/// Writes the standalone program of a request's rows, by one library: cuDNN's graph API for
/// convolutions, attention and normalisations, its call for recurrent layers, cuBLASLt for
/// products; and of each engine its plan's JSON, if the row has it. What kernels of ours do before
/// or behind is left out, and the instructions say so. Nothing is asked of a library or a GPU.
/// `library` names version and GPU for people. Throws Error{kUser} if no row is of these libraries,
/// or none has a time.
[[nodiscard]] Reproducer reproduce(const ReproducerRequest& request, const std::string& library);

}  // namespace plumb::cuda
