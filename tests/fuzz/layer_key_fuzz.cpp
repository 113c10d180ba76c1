// SPDX-License-Identifier: Apache-2.0
//
// Any text is refused as a layer key with an error of the user, or is the key of one layer: written
// again it reads the same. A layer that the check accepts has a cost that is not negative.
#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/base/error.hpp"
#include "harness/model/key/layer_cost.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/model/key/spec_check.hpp"
#include "tests/fuzz/require.hpp"

using plumb::test::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  try {
    const model::LayerSpec spec =
        model::parse_key({std::string(reinterpret_cast<const char*>(data), size)});
    const model::LayerKey key = model::to_key(spec);
    require(model::to_key(model::parse_key(key)) == key);
    if (!model::check_spec(spec)) {
      const model::LayerCost cost = model::compute_cost(spec);
      require(cost.macs >= 0 && cost.flops.value >= 0 && cost.minimum_flops.value >= 0);
      require(cost.input_bytes.value >= 0 && cost.weight_bytes.value >= 0 &&
              cost.output_bytes.value >= 0);
    }
  } catch (const Error& error) {
    require(error.kind() == Error::Kind::kUser);
  }
  return 0;
}
