// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/worker/protocol/requests.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {

/// Writes the standalone program of a request's rows. Each variant is made and executed once, to
/// record elements of its output. Throws Error{kUser} for what reproducer_source() does not cover,
/// for a variant that this library does not have, and for rows without a time.
[[nodiscard]] worker::Reproducer reproduce(const worker::ReproducerRequest& request,
                                           const BuilderList& builders,
                                           const Device& device);

}  // namespace plumb::onednn
