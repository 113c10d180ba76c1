// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "runners/onednn/exec/attributes.hpp"
#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/exec/layers.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;

struct ReductionRow {
  std::string_view fn;
  dnnl_alg_kind_t kind;
  float p;
  bool log;  ///< followed by a logarithm
};

constexpr std::array<ReductionRow, 9> kReductions{{
    {"mean", dnnl_reduction_mean, 0, false},
    {"sum", dnnl_reduction_sum, 0, false},
    {"max", dnnl_reduction_max, 0, false},
    {"min", dnnl_reduction_min, 0, false},
    {"prod", dnnl_reduction_mul, 0, false},
    {"l1", dnnl_reduction_norm_lp_power_p_sum, 1, false},
    {"l2", dnnl_reduction_norm_lp_sum, 2, false},
    {"sum_square", dnnl_reduction_norm_lp_power_p_sum, 2, false},
    {"log_sum", dnnl_reduction_sum, 0, true},
}};

const ReductionRow& row_of(const std::string& fn) {
  for (const ReductionRow& row : kReductions) {
    if (row.fn == fn) {
      return row;
    }
  }
  throw Unsupported(fmt::format("oneDNN has no reduction fn={}", fn));
}

}  // namespace

void offer_reduction(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
  if (!spec.has_input(0) || spec.outputs.size() != 1 || spec.inputs[0]->dims.empty()) {
    throw Unsupported("reduce needs one operand that is not a scalar, and one output");
  }
  const model::TensorType& x = *spec.inputs[0];
  const model::TensorType& y = spec.outputs[0];
  if (!model::is_floating(x.dtype)) {
    throw Unsupported("oneDNN reduces integers in f32");
  }
  if (element_count(x) == 0) {
    throw Unsupported("for zero elements oneDNN gives the largest float, not infinity");
  }
  const ReductionRow& row = row_of(spec.text("fn"));
  Dims dims = x.dims;
  for (const std::int64_t axis : spec.integers("axes")) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(dims.size())) {
      throw Unsupported("an axis of the reduction is out of range");
    }
    dims[static_cast<std::size_t>(axis)] = 1;
  }
  PostOperations posts;
  if (row.log) {
    posts.list.append_eltwise(dnnl::algorithm::eltwise_log, 0.0F, 0.0F);
  }
  posts.append_epilogue(spec, dims, Layout::kPlain);
  dnnl::primitive_attr attributes = make_attributes(spec);
  attributes.set_post_ops(posts.list);
  const auto result = dense(y.dtype, dims);
  if (static_cast<std::size_t>(model::byte_size(y).value) != result.get_size()) {
    throw Unsupported("the output of the reduction does not follow from the input and the axes");
  }
  std::vector<Argument> arguments{input(spec, DNNL_ARG_SRC, 0, dense(x)),
                                  output(DNNL_ARG_DST, 0, result)};
  arguments.insert(arguments.end(), posts.arguments.begin(), posts.arguments.end());
  dnnl_primitive_desc_t first = nullptr;
  const dnnl_status_t status = dnnl_reduction_primitive_desc_create(&first,
                                                                    device.engine.get(),
                                                                    row.kind,
                                                                    dense(x).get(),
                                                                    result.get(),
                                                                    row.p,
                                                                    0.0F,
                                                                    attributes.get());
  list.add_implementations(status, first, arguments, "");
}

}  // namespace plumb::onednn
