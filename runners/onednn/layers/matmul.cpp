// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/model/key/layer_spec.hpp"
#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/exec/variant_builder.hpp"
#include "runners/onednn/layers/integer_operands.hpp"

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
    return PostOperations::OperandForm{form, form};
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
                            VariantBuilder::List& list) {
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
                                                       device.get(),
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
                          VariantBuilder::List& list) {
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
                                                     device.get(),
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
                          VariantBuilder::List& list);

void offer_if_possible(const model::LayerSpec& spec,
                       const Device& device,
                       VariantBuilder::List& list,
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

/// Lists a `matmul` by one constant matrix as an inner product. Lists nothing for others.
void offer_row_inner_product(const model::LayerSpec& spec,
                             const Device& device,
                             VariantBuilder::List& list) {
  offer_if_possible(spec, device, list, offer_as_inner_product);
}

/// Lists such a `matmul` as a 1×1 convolution of an image whose pixels are the rows. Lists nothing
/// for others.
void offer_row_convolution(const model::LayerSpec& spec,
                           const Device& device,
                           VariantBuilder::List& list) {
  offer_if_possible(spec, device, list, offer_as_convolution);
}

/// Matrix product D = post(A·B [+ bias]) in oneDNN's dimensions.
struct Product {
  dnnl::memory::desc a, b, c;  ///< as they lie in memory
  Dims a_dims, b_dims, c_dims;
  std::optional<std::size_t> bias;  ///< operand added to every row
  PostOperations posts;
};

/// Describes a dense matrix, transposed if asked.
dnnl::memory::desc matrix(const model::TensorType& type, bool transposed) {
  const Dims& dims = type.dims;
  if (!transposed) {
    return dense(type);
  }
  return {{dims[1], dims[0]}, library_type(type.dtype), Dims{1, dims[1]}};
}

std::vector<Argument> make_arguments(const model::LayerSpec& spec,
                                     const Product& product,
                                     int a,
                                     int b,
                                     const dnnl::memory::desc& b_view,
                                     const dnnl::memory::desc& bias) {
  std::vector<Argument> arguments{
      input(spec, a, 0, product.a), input(spec, b, 1, b_view), output(DNNL_ARG_DST, 0, product.c)};
  if (product.bias) {
    arguments.push_back(input(spec, DNNL_ARG_BIAS, *product.bias, bias));
  }
  arguments.insert(arguments.end(), product.posts.arguments.begin(), product.posts.arguments.end());
  return arguments;
}

/// Lists matmul primitives, first with all layouts that may be free left to the library, then with
/// plain ones. Weights are free if they are constant.
void offer_matmuls(const model::LayerSpec& spec,
                   const Device& device,
                   VariantBuilder::List& list,
                   const Product& product,
                   const std::string& kind) {
  const model::TensorType& a = *spec.inputs[0];
  const model::TensorType& b = *spec.inputs[1];
  const model::TensorType& c = spec.outputs[0];
  dnnl::primitive_attr attributes = make_attributes(spec);
  attributes.set_post_ops(product.posts.list);
  const int columns = 1 << (product.b_dims.size() - 1);
  const IntegerOperands integers(spec, columns, attributes);
  dnnl::memory::desc bias;
  if (product.bias) {
    Dims dims(product.c_dims.size(), 1);
    dims.back() = product.c_dims.back();
    bias = dense(spec.inputs[*product.bias]->dtype, dims);
  }
  auto arguments = make_arguments(spec, product, DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, product.b, bias);
  const std::size_t own = arguments.size();
  arguments.insert(arguments.end(), integers.arguments().begin(), integers.arguments().end());
  const auto finish = [integers, own](ExecutionPlan& plan) { integers.finish(plan, own); };
  for (const Layout layout : {Layout::kAny, Layout::kPlain}) {
    const bool free = layout == Layout::kAny;
    const auto source = free ? any(a.dtype, product.a_dims) : product.a;
    const auto weights = free && b.constant ? any(b.dtype, product.b_dims) : product.b;
    const auto result = free ? any(c.dtype, product.c_dims) : product.c;
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status =
        dnnl_matmul_primitive_desc_create(&first,
                                          device.get(),
                                          source.get(),
                                          weights.get(),
                                          product.bias ? bias.get() : nullptr,
                                          result.get(),
                                          attributes.get());
    list.add_implementations(
        status, first, arguments, fmt::format("{}layout={}", kind, to_text(layout)), finish);
  }
}

/// Lists inner products. They read the weights as [N, K].
void offer_inner_products(const model::LayerSpec& spec,
                          const Device& device,
                          VariantBuilder::List& list,
                          const Product& product) {
  const model::TensorType& a = *spec.inputs[0];
  const model::TensorType& b = *spec.inputs[1];
  const model::TensorType& c = spec.outputs[0];
  const Dims weight_dims{product.b_dims[1], product.b_dims[0]};
  const auto b_view = matrix(b, spec.integer("trans_b") == 0);
  dnnl::primitive_attr attributes = make_attributes(spec);
  attributes.set_post_ops(product.posts.list);
  dnnl::memory::desc bias;
  if (product.bias) {
    bias = dense(spec.inputs[*product.bias]->dtype, Dims{product.c_dims[1]});
  }
  const auto arguments =
      make_arguments(spec, product, DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, b_view, bias);
  for (const Layout layout : {Layout::kAny, Layout::kPlain}) {
    const bool free = layout == Layout::kAny;
    const auto source = free ? any(a.dtype, product.a_dims) : product.a;
    const auto weights = free && b.constant ? any(b.dtype, weight_dims) : b_view;
    const auto result = free ? any(c.dtype, product.c_dims) : product.c;
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status =
        dnnl_inner_product_forward_primitive_desc_create(&first,
                                                         device.get(),
                                                         dnnl_forward_inference,
                                                         source.get(),
                                                         weights.get(),
                                                         product.bias ? bias.get() : nullptr,
                                                         result.get(),
                                                         attributes.get());
    list.add_implementations(
        status, first, arguments, fmt::format("kind=inner_product;layout={}", to_text(layout)));
  }
}

/// Turns alpha·A·B + beta·C into post-operations. A C of one row with equal factors becomes the
/// bias.
void add_c(const model::LayerSpec& spec, Product& product) {
  const auto alpha = static_cast<float>(spec.real("alpha"));
  const auto beta = static_cast<float>(spec.real("beta"));
  if (!spec.has_input(2) || beta == 0.0F) {
    product.posts.append_scale(alpha);
    return;
  }
  const Dims dims = padded_to_rank(spec.inputs[2]->dims, 2);
  if (alpha == beta && dims == Dims{1, product.c_dims[1]}) {
    product.bias = 2;
    product.posts.append_scale(alpha);
    return;
  }
  product.posts.append_scale(alpha / beta);
  product.posts.append_binary(spec, dnnl_binary_add, 2, product.c_dims, Layout::kPlain);
  product.posts.append_scale(beta);
}

/// Takes the first step of a `matmul`'s epilogue as the primitive's bias if it adds a vector and
/// the weights are no constant, as in training. Constant weights have an inner product with
/// post-operations. Returns the layer with the steps that are left.
model::LayerSpec take_bias(const model::LayerSpec& spec, Product& product) {
  model::LayerSpec rest = spec;
  if (spec.op != "matmul" || !model::is_floating(spec.inputs[0]->dtype) ||
      spec.inputs[1]->constant || spec.epilogue.empty() || spec.epilogue.front().fn != "add") {
    return rest;
  }
  const std::size_t operand = spec.epilogue.front().operand.value();
  if (spec.has_input(operand) && spec.inputs[operand]->dims == Dims{product.c_dims.back()}) {
    product.bias = operand;
    rest.epilogue.erase(rest.epilogue.begin());
  }
  return rest;
}

}  // namespace

void offer_gemm(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list) {
  if (has_gradient_steps(spec)) {
    return offer_product_gradient(spec, device, list);
  }
  if (!spec.has_input(0) || !spec.has_input(1) || spec.outputs.size() != 1 ||
      spec.inputs[0]->dims.size() != 2 || spec.inputs[1]->dims.size() != 2) {
    throw Unsupported("gemm needs two matrices and one output");
  }
  Product product;
  product.a = matrix(*spec.inputs[0], spec.integer("trans_a") != 0);
  product.b = matrix(*spec.inputs[1], spec.integer("trans_b") != 0);
  product.c = dense(spec.outputs[0]);
  product.a_dims = product.a.get_dims();
  product.b_dims = product.b.get_dims();
  product.c_dims = product.c.get_dims();
  if (product.c_dims != Dims{product.a_dims[0], product.b_dims[1]} ||
      product.a_dims[1] != product.b_dims[0]) {
    throw Unsupported("the extents of gemm's operands do not fit together");
  }
  add_c(spec, product);
  product.posts.append_epilogue(spec, product.c_dims, Layout::kPlain);
  offer_matmuls(spec, device, list, product, "kind=matmul;");
  if (spec.integer("trans_a") == 0) {
    offer_inner_products(spec, device, list, product);
  }
}

void offer_matmul(const model::LayerSpec& spec, const Device& device, VariantBuilder::List& list) {
  if (has_gradient_steps(spec)) {
    return offer_product_gradient(spec, device, list);
  }
  if (!spec.has_input(0) || !spec.has_input(1) || spec.outputs.size() != 1 ||
      spec.inputs[0]->dims.empty() || spec.inputs[1]->dims.empty()) {
    throw Unsupported("matmul needs two operands of at least one dimension and one output");
  }
  Dims a = spec.inputs[0]->dims;
  Dims b = spec.inputs[1]->dims;
  Dims c = spec.outputs[0].dims;
  if (a.size() == 1) {
    a.insert(a.begin(), 1);
    c.insert(c.end() - (spec.inputs[1]->dims.size() > 1 ? 1 : 0), 1);
  }
  if (b.size() == 1) {
    b.push_back(1);
    c.push_back(1);
  }
  const std::size_t rank = std::max(a.size(), b.size());
  Product product;
  product.a_dims = padded_to_rank(a, rank);
  product.b_dims = padded_to_rank(b, rank);
  product.c_dims = padded_to_rank(c, rank);
  if (product.c_dims.size() != rank) {
    throw Unsupported("the ranks of matmul's operands and output do not fit together");
  }
  product.a = dense(spec.inputs[0]->dtype, product.a_dims);
  product.b = dense(spec.inputs[1]->dtype, product.b_dims);
  product.c = dense(spec.outputs[0].dtype, product.c_dims);
  product.posts.append_epilogue(take_bias(spec, product), product.c_dims, Layout::kPlain);
  offer_row_inner_product(spec, device, list);
  offer_matmuls(spec, device, list, product, "");
  offer_row_convolution(spec, device, list);
}

}  // namespace plumb::onednn
