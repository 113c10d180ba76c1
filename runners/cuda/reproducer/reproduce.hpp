// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/worker/protocol/requests.hpp"

namespace plumb::cuda {

/// Writes the standalone program of a request's rows, by one library. That is cuDNN's graph API for
/// convolutions, attention and normalisations, its call for recurrent layers, or cuBLASLt for
/// products. Each engine has its plan's JSON with it, if the row has it. What built-in kernels do
/// before or after is left out, and the instructions say so. It needs neither a library nor a GPU.
/// `library` names version and GPU for people. Throws Error{kUser} if no row is of these libraries,
/// or none has a time.
[[nodiscard]] worker::Reproducer reproduce(const worker::ReproducerRequest& request,
                                           const std::string& library);

}  // namespace plumb::cuda
