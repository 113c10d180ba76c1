// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/match.hpp"

#include <algorithm>

namespace plumb {

Match make_match(std::string_view rule, std::vector<LayerId> layers, LayerSpec spec) {
  std::sort(layers.begin(), layers.end());
  Match match;
  match.rewrite = rule;
  match.layers = std::move(layers);
  match.key = to_key(spec);
  match.cost = cost_of(spec);
  match.spec = std::move(spec);
  return match;
}

}  // namespace plumb
