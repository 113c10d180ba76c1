// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runners/onednn/exec/attributes.hpp"
#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/exec/layers.hpp"
#include "runners/onednn/kernels/resize_geometry.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;

bool same_positions(const std::vector<std::vector<ResizeTap>>& a,
                    const std::vector<std::int64_t>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const auto& taps, std::int64_t position) {
        return taps.front().position == position;
      });
}

/// Lists oneDNN's own source positions (its documentation of resampling, nearest). They are
/// round((i + 0.5) · in / out − 0.5), halves away from zero.
std::vector<std::int64_t> library_positions(std::int64_t in, std::int64_t out) {
  std::vector<std::int64_t> positions;
  for (std::int64_t at = 0; at < out; ++at) {
    const float x =
        (static_cast<float>(at) + 0.5F) * static_cast<float>(in) / static_cast<float>(out) - 0.5F;
    positions.push_back(std::clamp<std::int64_t>(std::lround(x), 0, in - 1));
  }
  return positions;
}

/// Returns whether the library resizes as the key wants it. Batch and channels must stay.
bool library_resizes(const model::LayerSpec& spec) {
  const Dims& x = spec.inputs[0]->dims;
  const Dims& y = spec.outputs[0].dims;
  const std::string& mode = spec.text("mode");
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const double scale = spec.reals("scales")[axis];
    if (axis < 2 && (x[axis] != y[axis] || scale != 1)) {
      return false;
    }
    if (mode == "nearest" &&
        !same_positions(resize_taps(spec, axis), library_positions(x[axis], y[axis]))) {
      return false;
    }
    if (mode == "linear" &&
        (spec.text("coordinates") != "half_pixel" || spec.integer("exclude_outside") != 0 ||
         spec.integer("antialias") != 0 ||
         std::abs(scale * static_cast<double>(x[axis]) - static_cast<double>(y[axis])) > 1e-4)) {
      return false;
    }
  }
  return mode != "cubic";
}

}  // namespace

void offer_resampling(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
  if (!spec.has_input(0) || spec.outputs.size() != 1 || spec.inputs[0]->dims.size() < 3 ||
      spec.inputs[0]->dims.size() > 5 ||
      spec.outputs[0].dims.size() != spec.inputs[0]->dims.size() ||
      spec.reals("scales").size() != spec.inputs[0]->dims.size()) {
    throw Unsupported("oneDNN resizes 1 to 3 spatial dimensions");
  }
  if (!library_resizes(spec)) {
    throw Unsupported("oneDNN resizes by half-pixel positions only, nearest or linear");
  }
  const model::TensorType& x = *spec.inputs[0];
  const model::TensorType& y = spec.outputs[0];
  for (const Layout layout : given_layouts(x.dims.size())) {
    const auto source = activation(x.dtype, x.dims, layout);
    const auto result = activation(y.dtype, y.dims, layout);
    PostOperations posts;
    posts.append_epilogue(spec, y.dims, layout);
    dnnl::primitive_attr attributes = make_attributes(spec);
    attributes.set_post_ops(posts.list);
    std::vector<Argument> arguments{input(spec, DNNL_ARG_SRC, 0, dense(x)),
                                    output(DNNL_ARG_DST, 0, dense(y))};
    arguments.insert(arguments.end(), posts.arguments.begin(), posts.arguments.end());
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status = dnnl_resampling_forward_primitive_desc_create(
        &first,
        device.engine.get(),
        dnnl_forward_inference,
        spec.text("mode") == "nearest" ? dnnl_resampling_nearest : dnnl_resampling_linear,
        nullptr,
        source.get(),
        result.get(),
        attributes.get());
    list.add_implementations(status, first, arguments, fmt::format("layout={}", to_text(layout)));
  }
}

}  // namespace plumb::onednn
