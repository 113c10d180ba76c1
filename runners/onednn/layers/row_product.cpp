// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/layers/row_product.hpp"

#include "runners/onednn/exec/attributes.hpp"
#include "runners/onednn/exec/descriptor.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;

/// Matrix product A[rows, inner] · B[inner, columns].
struct RowProduct {
  std::int64_t rows;
  std::int64_t inner;
  std::int64_t columns;
};

std::optional<RowProduct> row_product(const model::LayerSpec& spec) {
  const model::TensorType& a = *spec.inputs[0];
  const model::TensorType& b = *spec.inputs[1];
  constexpr std::int64_t kMaxResult = std::int64_t{1} << 34;  // the library counts it in 32 bits
  const bool one_matrix = b.constant && b.dims.size() == 2 && a.dims.size() >= 2;
  if (spec.op != "matmul" || !model::is_floating(a.dtype) || !one_matrix || element_count(a) == 0 ||
      b.dims[1] == 0 || element_count(spec.outputs[0]) > kMaxResult) {
    return std::nullopt;
  }
  return RowProduct{element_count(a) / b.dims[0], b.dims[0], b.dims[1]};
}

/// Describes rows, one after the other, as a matrix.
dnnl::memory::desc as_matrix(model::DataType type, std::int64_t rows, std::int64_t columns) {
  return dense(type, Dims{rows, columns});
}

/// Describes rows as the pixels of an image with its channels last.
dnnl::memory::desc as_image(model::DataType type, std::int64_t rows, std::int64_t columns) {
  return activation(type, Dims{1, columns, 1, rows}, Layout::kChannelsLast);
}

using View = dnnl::memory::desc (*)(model::DataType type, std::int64_t rows, std::int64_t columns);

/// Describes an operand of the epilogue. Throws Unsupported if it is neither a row nor a whole
/// result.
dnnl::memory::desc operand_view(const model::TensorType& type,
                                const RowProduct& product,
                                View view) {
  const std::int64_t count = element_count(type);
  if (type.dims.empty() || type.dims.back() != product.columns ||
      (count != product.columns && count != product.rows * product.columns)) {
    throw Unsupported("an operand of the epilogue that is neither a row nor a whole result");
  }
  return view(type.dtype, count / product.columns, product.columns);
}

PostOperations make_posts(const model::LayerSpec& spec, const RowProduct& product, View view) {
  PostOperations posts;
  posts.append_epilogue(spec, [&](const model::TensorType& type) {
    const dnnl::memory::desc form = operand_view(type, product, view);
    return OperandForm{form, form};
  });
  return posts;
}

std::vector<Argument> make_arguments(const model::LayerSpec& spec,
                                     const dnnl::memory::desc& source,
                                     const dnnl::memory::desc& weights,
                                     const dnnl::memory::desc& result,
                                     const PostOperations& posts) {
  std::vector<Argument> arguments{input(spec, DNNL_ARG_SRC, 0, source),
                                  input(spec, DNNL_ARG_WEIGHTS, 1, weights),
                                  output(DNNL_ARG_DST, 0, result)};
  arguments.insert(arguments.end(), posts.arguments.begin(), posts.arguments.end());
  return arguments;
}

void offer_as_inner_product(const model::LayerSpec& spec,
                            const RowProduct& product,
                            const Device& device,
                            BuilderList& list) {
  const model::DataType type = spec.inputs[1]->dtype;
  const auto source = as_matrix(spec.inputs[0]->dtype, product.rows, product.inner);
  const auto result = as_matrix(spec.outputs[0].dtype, product.rows, product.columns);
  const Dims extents{product.columns, product.inner};
  const dnnl::memory::desc weights(extents, library_type(type), Dims{1, product.columns});
  const PostOperations posts = make_posts(spec, product, as_matrix);
  dnnl::primitive_attr attributes = make_attributes(spec);
  attributes.set_post_ops(posts.list);
  dnnl_primitive_desc_t first = nullptr;
  const dnnl_status_t status =
      dnnl_inner_product_forward_primitive_desc_create(&first,
                                                       device.engine.get(),
                                                       dnnl_forward_inference,
                                                       source.get(),
                                                       any(type, extents).get(),
                                                       nullptr,
                                                       result.get(),
                                                       attributes.get());
  list.add_implementations(
      status, first, make_arguments(spec, source, weights, result, posts), "kind=inner_product");
}

void offer_as_convolution(const model::LayerSpec& spec,
                          const RowProduct& product,
                          const Device& device,
                          BuilderList& list) {
  const model::DataType type = spec.inputs[1]->dtype;
  const auto source = as_image(spec.inputs[0]->dtype, product.rows, product.inner);
  const auto result = as_image(spec.outputs[0].dtype, product.rows, product.columns);
  const Dims extents{product.columns, product.inner, 1, 1};
  const dnnl::memory::desc weights(
      extents, library_type(type), Dims{1, product.columns, product.columns, product.columns});
  const PostOperations posts = make_posts(spec, product, as_image);
  dnnl::primitive_attr attributes = make_attributes(spec);
  attributes.set_post_ops(posts.list);
  const Dims ones{1, 1};
  const Dims zeros{0, 0};
  dnnl_primitive_desc_t first = nullptr;
  const dnnl_status_t status =
      dnnl_convolution_forward_primitive_desc_create(&first,
                                                     device.engine.get(),
                                                     dnnl_forward_inference,
                                                     dnnl_convolution_direct,
                                                     source.get(),
                                                     any(type, extents).get(),
                                                     nullptr,
                                                     result.get(),
                                                     ones.data(),
                                                     zeros.data(),
                                                     zeros.data(),
                                                     zeros.data(),
                                                     attributes.get());
  list.add_implementations(
      status, first, make_arguments(spec, source, weights, result, posts), "kind=convolution");
}

using RowOffer = void (*)(const model::LayerSpec& spec,
                          const RowProduct& product,
                          const Device& device,
                          BuilderList& list);

void offer_if_possible(const model::LayerSpec& spec,
                       const Device& device,
                       BuilderList& list,
                       RowOffer builder) {
  const std::optional<RowProduct> product = row_product(spec);
  if (!product) {
    return;
  }
  try {
    builder(spec, *product, device, list);
  } catch (const Unsupported&) {
    // The same product by a matmul primitive says what is refused.
  }
}

}  // namespace

void offer_row_inner_product(const model::LayerSpec& spec,
                             const Device& device,
                             BuilderList& list) {
  offer_if_possible(spec, device, list, offer_as_inner_product);
}

void offer_row_convolution(const model::LayerSpec& spec, const Device& device, BuilderList& list) {
  offer_if_possible(spec, device, list, offer_as_convolution);
}

}  // namespace plumb::onednn
