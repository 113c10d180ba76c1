// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/match.hpp"

#include <algorithm>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::rewrite {

Match make_match(std::string_view rule,
                 std::vector<model::LayerId> layers,
                 Replacement replacement) {
  PLUMB_CHECK(replacement.inputs.size() == replacement.spec.inputs.size());
  std::sort(layers.begin(), layers.end());
  model::LayerKey key = model::to_key(replacement.spec);
  const model::LayerCost cost = model::compute_cost(replacement.spec);
  return {std::move(replacement), rule, std::move(layers), std::move(key), cost};
}

}  // namespace plumb::rewrite
