// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/graph/graph.hpp"

namespace plumb::rewrite {

/// Makes the key and the cost of a layer whose spec has changed. A layer that has no such form
/// becomes kUnsupported.
void rekey(model::Layer& layer);

}  // namespace plumb::rewrite
