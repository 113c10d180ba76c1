// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/legacy/legacy_pool.hpp"

#include <fmt/format.h>

#include <utility>

#include "runners/cuda/dnn/legacy/legacy_tensor.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {

std::vector<LegacyProblem> legacy_softmaxes(const model::LayerSpec& spec) {
  using Algorithm = abi::LegacySoftmax;
  const model::TensorType& x = spec.inputs.at(0).value();
  const auto axis = static_cast<std::size_t>(spec.integer("axis"));
  const bool to_the_end = spec.integer("coerce") != 0;
  Dimensions parted{1, 1, 1, 1};
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    parted[i < axis ? 0 : (i == axis || to_the_end ? 1 : 2)] *= x.dims[i];
  }
  std::vector<LegacyProblem> problems;
  const auto add = [&](Algorithm algorithm, const char* name) {
    LegacySoftmax call{
        legacy_tensor(x.dtype, parted, TensorLayout::kChannelsFirst, 0),
        legacy_tensor(
            spec.outputs.at(0).dtype, parted, TensorLayout::kChannelsFirst, spec.inputs.size()),
        algorithm};
    problems.push_back(
        {fmt::format("algo={}", name), TensorLayout::kChannelsFirst, std::move(call), {}});
  };
  if (spec.integer("log") != 0) {
    add(Algorithm::kLog, "LOG");
  } else {
    add(Algorithm::kAccurate, "ACCURATE");
    add(Algorithm::kFast, "FAST");
  }
  return problems;
}

std::vector<LegacyProblem> legacy_pools(const model::LayerSpec& spec) {
  using Mode = abi::LegacyPool;
  if (spec.outputs.size() != 1) {
    throw Unsupported("a pool that gives positions");
  }
  const LegacyWindow window = legacy_window(spec, spec.integers("kernel"));
  for (const int dilation : window.dilations) {
    if (dilation != 1) {
      throw Unsupported("a pool with dilations");
    }
  }
  const bool with_pads = spec.op == "average_pool" && spec.integer("count_include_pad") != 0;
  std::vector<LegacyProblem> problems;
  for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
    LegacyPool pool{legacy_input(spec, 0, layout),
                    legacy_result(spec, layout),
                    with_pads ? Mode::kAverageWithPads : Mode::kAverageWithoutPads,
                    window.kernel,
                    window.pads,
                    window.strides};
    for (std::size_t i = 0; i < window.kernel.size(); ++i) {
      const int extent =
          (pool.x.dimensions[i + 2] + 2 * window.pads[i] - window.kernel[i]) / window.strides[i] +
          1;
      if (extent != pool.y.dimensions[i + 2]) {
        throw Unsupported("a pool with a window larger than its extents");
      }
    }
    if (spec.op == "max_pool") {
      pool.mode =
          spec.math == model::MathClass::kDeterministic ? Mode::kMaxDeterministic : Mode::kMax;
    }
    problems.push_back({fmt::format("layout={}", to_text(layout)), layout, std::move(pool), {}});
  }
  return problems;
}

}  // namespace plumb::cuda
