// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "runners/onednn/exec/layers.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"
#include "runners/onednn/kernels/element_block.hpp"
#include "runners/onednn/kernels/resize_geometry.hpp"

namespace plumb::onednn {
namespace {

/// Interpolation of a dense tensor, axis by axis. All memory is allocated at construction.
class Interpolation {
 public:
  explicit Interpolation(const model::LayerSpec& spec)
      : in_type_(spec.inputs[0]->dtype), out_type_(spec.outputs[0].dtype) {
    check_number(in_type_);
    check_number(out_type_);
    std::vector<std::int64_t> dims = spec.inputs[0]->dims;
    const std::vector<std::int64_t>& wanted = spec.outputs[0].dims;
    values_.resize(static_cast<std::size_t>(element_count(*spec.inputs[0])));
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      Pass pass{resize_taps(spec, axis), 1, static_cast<std::size_t>(dims[axis]), 1, {}};
      if (dims[axis] == wanted[axis] && spec.reals("scales")[axis] == 1) {
        continue;
      }
      dims[axis] = wanted[axis];
      for (std::size_t other = 0; other < dims.size(); ++other) {
        (other < axis ? pass.outer : pass.inner) *=
            other == axis ? 1 : static_cast<std::size_t>(dims[other]);
      }
      pass.result.resize(pass.outer * pass.taps.size() * pass.inner);
      passes_.push_back(std::move(pass));
    }
  }

  void run(const std::byte* source, std::byte* destination) {
    load(in_type_, source, values_.size(), values_.data());
    const std::vector<float>* values = &values_;
    for (Pass& pass : passes_) {
      apply(pass, *values);
      values = &pass.result;
    }
    store(out_type_, values->data(), values->size(), destination);
  }

 private:
  /// One axis, seen as the middle of three.
  struct Pass {
    std::vector<std::vector<ResizeTap>> taps;
    std::size_t outer;
    std::size_t extent;  ///< of the source
    std::size_t inner;
    std::vector<float> result;
  };

  static void apply(Pass& pass, const std::vector<float>& source) {
    float* row = pass.result.data();
    for (std::size_t outer = 0; outer < pass.outer; ++outer) {
      for (const auto& position : pass.taps) {
        std::fill_n(row, pass.inner, 0.0F);
        for (const ResizeTap& tap : position) {
          const auto weight = static_cast<float>(tap.weight);
          const float* const from =
              source.data() +
              (outer * pass.extent + static_cast<std::size_t>(tap.position)) * pass.inner;
          for (std::size_t index = 0; index < pass.inner; ++index) {
            row[index] += weight * from[index];
          }
        }
        row += pass.inner;
      }
    }
  }

  model::DataType in_type_;
  model::DataType out_type_;
  std::vector<float> values_;
  std::vector<Pass> passes_;
};

}  // namespace

void interpolate_resize(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
  require_operands(spec, 1);
  if (spec.text("mode") == "nearest") {
    copy_nearest(spec, device, list);
    return;
  }
  require(model::is_floating(spec.inputs[0]->dtype),
          spec,
          "only floating-point values are interpolated");
  auto interpolation = std::make_shared<Interpolation>(spec);
  add_own(list, spec, "resize", [interpolation](const KernelOperands& operands) {
    interpolation->run(operands.input(0), operands.output(0));
  });
}

}  // namespace plumb::onednn
