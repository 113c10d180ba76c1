// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/results/run.hpp"

namespace plumb::store {

/// Kind of the record that marks a run of which something came from an export of format 1.
inline constexpr const char* kUnguardedRecord = "unguarded";

/// Checks that the payload of a derived record has the fields that readers of its kind need. A kind
/// that this version does not know must be JSON. Throws Error{kUser} with the kind, the subject and
/// the fault.
void check_derived_payload(const results::DerivedRecord& record);

}  // namespace plumb::store
