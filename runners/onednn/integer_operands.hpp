// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "harness/model/layer_spec.hpp"
#include "runners/onednn/offer.hpp"

namespace plumb::onednn {

/// Returns whether the library, on this CPU, accumulates 8-bit products without loss: with VNNI.
[[nodiscard]] bool has_exact_integer_products();

/// Ties the scales and zero points of an integer product to a primitive. oneDNN takes scales as f32
/// and zero points as s32, which constant ones become when bound.
class IntegerOperands {
 public:
  /// Sets the masks among `attributes`; `channels` is that of weights with a scale for each output
  /// channel. Throws Unsupported for what oneDNN cannot take. Other layers than integer products
  /// have none of these operands.
  IntegerOperands(const LayerSpec& spec, int channels, dnnl::primitive_attr& attributes);

  [[nodiscard]] const std::vector<Argument>& arguments() const { return arguments_; }
  /// Returns where among them the scale of x stands, in front of that of the weights.
  [[nodiscard]] std::size_t x_scale() const { return x_scale_; }

  /// Completes a plan of one primitive that was made of `before` other arguments and these.
  void finish(LayerPlan& plan, std::size_t before) const;

 private:
  void add_scale(const LayerSpec& spec,
                 std::size_t operand,
                 int of,
                 int channels,
                 dnnl::primitive_attr& attributes);
  void add_zero_point(const LayerSpec& spec,
                      std::size_t operand,
                      int of,
                      dnnl::primitive_attr& attributes);

  std::vector<Argument> arguments_;
  std::size_t x_scale_ = 0;
  std::vector<Pack> packs_;  // one to one; empty: the operand as it is
};

/// Completes a plan of one primitive whose arguments from `first` on are scales and zero points,
/// which have no layouts of their own: `packs` one to one, empty: the operand as it is.
void take_as_they_are(LayerPlan& plan, std::size_t first, const std::vector<Pack>& packs);

/// Makes the s32 that oneDNN wants of a zero point of an integer type.
[[nodiscard]] Pack zero_point_pack(DataType type);

}  // namespace plumb::onednn
