// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {

/// Returns whether the library accumulates 8-bit products without loss on this CPU, which needs
/// VNNI.
[[nodiscard]] bool has_exact_integer_products();

/// Scales and zero points of an integer product, as arguments of a primitive. oneDNN takes scales
/// as f32 and zero points as s32. Constant zero points are converted when bound.
class IntegerOperands {
 public:
  /// Sets the masks among `attributes`. `channels` is the mask of weights with a scale for each
  /// output channel. Throws Unsupported for what oneDNN cannot take. Layers other than integer
  /// products have none of these operands.
  IntegerOperands(const model::LayerSpec& spec, int channels, dnnl::primitive_attr& attributes);

  [[nodiscard]] const std::vector<Argument>& arguments() const { return arguments_; }
  /// Returns the index of x's scale among arguments(). The weights' scale follows it.
  [[nodiscard]] std::size_t x_scale() const { return x_scale_; }

  /// Completes a plan of one primitive, which was made from `before` other arguments and these.
  void finish(ExecutionPlan& plan, std::size_t before) const;

 private:
  void add_scale(const model::LayerSpec& spec,
                 std::size_t operand,
                 int of,
                 int channels,
                 dnnl::primitive_attr& attributes);
  void add_zero_point(const model::LayerSpec& spec,
                      std::size_t operand,
                      int of,
                      dnnl::primitive_attr& attributes);

  std::vector<Argument> arguments_;
  std::size_t x_scale_ = 0;
  std::vector<Pack> packs_;  // one to one; empty: the operand as it is
};

/// Completes a plan of one primitive whose arguments from `first` on are scales and zero points.
/// These have no layouts of their own. `packs` has one entry for each; empty means the operand as
/// it is.
void take_as_they_are(ExecutionPlan& plan, std::size_t first, const std::vector<Pack>& packs);

/// Returns a packing of a zero point of an integer type as the s32 that oneDNN takes.
[[nodiscard]] Pack zero_point_pack(model::DataType type);

}  // namespace plumb::onednn
