// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/worker/reproducer.hpp"
#include "runners/onednn/offer.hpp"

namespace plumb::onednn {

/// Writes the standalone program of a request's rows; each variant is made and executed once, for
/// what its output holds. Throws Error{kUser} for what reproducer_source() does not cover, for a
/// variant that this library does not have, and for rows without a time.
[[nodiscard]] Reproducer reproduce(const ReproducerRequest& request,
                                   const OfferList& offers,
                                   const Device& device);

}  // namespace plumb::onednn
