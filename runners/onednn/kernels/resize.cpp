// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "runners/onednn/descriptor.hpp"
#include "runners/onednn/kernels/element_block.hpp"
#include "runners/onednn/kernels/own_kernel.hpp"
#include "runners/onednn/kernels/resize_geometry.hpp"
#include "runners/onednn/layers/layers.hpp"

namespace plumb::onednn {
namespace {

/// Interpolates a dense tensor. Memory for converted values is taken once, when made.
class Interpolation {
 public:
  explicit Interpolation(const LayerSpec& spec)
      : in_type_(spec.inputs[0]->dtype), out_type_(spec.outputs[0].dtype) {
    check_number(in_type_);
    check_number(out_type_);
    const auto strides = dense_strides(spec.inputs[0]->dims);
    for (std::size_t axis = 0; axis < strides.size(); ++axis) {
      axes_.push_back({resize_taps(spec, axis), strides[axis]});
    }
    in_.resize(static_cast<std::size_t>(element_count(*spec.inputs[0])));
    out_.resize(static_cast<std::size_t>(element_count(spec.outputs[0])));
  }

  void run(const std::byte* source, std::byte* destination) {
    load(in_type_, source, in_.size(), in_.data());
    next_ = 0;
    if (!out_.empty()) {
      visit(0, {{0, 1.0F}});
    }
    store(out_type_, out_.data(), out_.size(), destination);
  }

 private:
  struct Axis {
    std::vector<std::vector<ResizeTap>> taps;
    std::int64_t stride = 0;
  };
  struct Weighted {
    std::int64_t offset;
    float weight;
  };

  /// Multiplies out the taps of the axes before `axis`; at the end they are the taps of one
  /// element.
  void visit(std::size_t axis, const std::vector<Weighted>& before) {
    if (axis == axes_.size()) {
      float sum = 0;
      for (const Weighted& tap : before) {
        sum += tap.weight * in_[static_cast<std::size_t>(tap.offset)];
      }
      out_[next_++] = sum;
      return;
    }
    std::vector<Weighted> taps;
    for (const auto& position : axes_[axis].taps) {
      taps.clear();
      for (const Weighted& outer : before) {
        for (const ResizeTap& tap : position) {
          taps.push_back({outer.offset + tap.position * axes_[axis].stride,
                          outer.weight * static_cast<float>(tap.weight)});
        }
      }
      visit(axis + 1, taps);
    }
  }

  DataType in_type_;
  DataType out_type_;
  std::vector<Axis> axes_;
  std::vector<float> in_;
  std::vector<float> out_;
  std::size_t next_ = 0;
};

}  // namespace

void interpolate_resize(const LayerSpec& spec, const Device& device, OfferList& list) {
  require_operands(spec, 1);
  if (spec.text("mode") == "nearest") {
    copy_nearest(spec, device, list);
    return;
  }
  require(is_floating(spec.inputs[0]->dtype), spec, "only floating-point values are interpolated");
  auto interpolation = std::make_shared<Interpolation>(spec);
  add_own(list, spec, "resize", [interpolation](const KernelOperands& operands) {
    interpolation->run(operands.input(0), operands.output(0));
  });
}

}  // namespace plumb::onednn
