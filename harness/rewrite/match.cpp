// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/match.hpp"

#include <algorithm>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb {

Match make_match(std::string_view rule, std::vector<LayerId> layers, Replacement replacement) {
  PLUMB_CHECK(replacement.inputs.size() == replacement.spec.inputs.size());
  std::sort(layers.begin(), layers.end());
  LayerKey key = to_key(replacement.spec);
  const LayerCost cost = cost_of(replacement.spec);
  return {std::move(replacement), rule, std::move(layers), std::move(key), cost};
}

}  // namespace plumb
