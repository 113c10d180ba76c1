// SPDX-License-Identifier: Apache-2.0
// Uses the installed library as an outsider would: reads a key, prices it, writes it again.
#include <cstdio>
#include <harness/analysis/whatif/what_if.hpp>
#include <harness/model/key/layer_cost.hpp>
#include <harness/model/key/layer_spec.hpp>

int main() {
  const plumb::model::LayerKey key{
      "v1:conv;in=f32[1,64,56,56],f32[64,64,3,3]c;out=f32[1,64,56,56];acc=f32;math=strict;"
      "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"};
  const plumb::model::LayerSpec spec = plumb::model::parse_key(key);
  const plumb::model::LayerCost cost = plumb::model::compute_cost(spec);
  const bool right = plumb::model::to_key(spec) == key && cost.macs == 56LL * 56 * 64 * 64 * 9 &&
                     !plumb::analysis::what_ifs().empty();
  std::printf("%lld MACs, %s\n", static_cast<long long>(cost.macs), right ? "right" : "WRONG");
  return right ? 0 : 1;
}
