// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/layers/convolution_problem.hpp"

#include <fmt/format.h>

#include "runners/onednn/exec/descriptor.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;

void check_shapes(const model::LayerSpec& spec) {
  if (!spec.has_input(0) || !spec.has_input(1) || spec.outputs.size() != 1) {
    throw Unsupported(fmt::format("{} needs x, w and one output", spec.op));
  }
  const std::size_t rank = spec.inputs[0]->dims.size();
  const std::size_t spatial = rank - 2;
  if (rank < 3 || rank > 5 || spec.inputs[1]->dims.size() != rank ||
      spec.outputs[0].dims.size() != rank || spec.integers("strides").size() != spatial ||
      spec.integers("dilations").size() != spatial || spec.integers("pads").size() != 2 * spatial ||
      spec.integer("group") < 1) {
    throw Unsupported(fmt::format(
        "oneDNN has {} over 1 to 3 spatial dimensions, with attributes of that length", spec.op));
  }
}

}  // namespace

ConvolutionProblem convolution_problem(const model::LayerSpec& spec) {
  check_shapes(spec);
  ConvolutionProblem problem;
  problem.strides = spec.integers("strides");
  for (const std::int64_t dilation : spec.integers("dilations")) {
    problem.dilations.push_back(dilation - 1);
  }
  const Dims& pads = spec.integers("pads");
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
  problem.begins.assign(pads.begin(), middle);
  problem.ends.assign(middle, pads.end());
  return problem;
}

void add_convolution_weights(const model::LayerSpec& spec, ConvolutionProblem& problem) {
  const model::TensorType& type = *spec.inputs[1];
  const std::int64_t group = spec.integer("group");
  problem.weights = type.dims;
  if (group > 1) {
    problem.weights[0] /= group;
    problem.weights.insert(problem.weights.begin(), group);
  }
  problem.weights_view = dense(type.dtype, problem.weights);
}

}  // namespace plumb::onednn
