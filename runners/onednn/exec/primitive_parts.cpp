// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/primitive_parts.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "harness/model/key/operator_families.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

void check_rank(const Dims& dims) {
  if (dims.size() > DNNL_MAX_NDIMS) {
    throw Unsupported(
        fmt::format("oneDNN takes {} dimensions at most, not {}", DNNL_MAX_NDIMS, dims.size()));
  }
}

Tag blocked_tag(std::size_t rank, bool sixteen) {
  switch (rank) {
    case 3:
      return sixteen ? Tag::aBc16b : Tag::aBc8b;
    case 4:
      return sixteen ? Tag::aBcd16b : Tag::aBcd8b;
    default:
      return sixteen ? Tag::aBcde16b : Tag::aBcde8b;
  }
}

dnnl::memory::desc channels_last(model::DataType type, const Dims& dims) {
  Dims strides(dims.size());
  dnnl::memory::dim next = 1;
  strides[1] = next;
  next *= dims[1];
  for (std::size_t axis = dims.size() - 1; axis > 1; --axis) {
    strides[axis] = next;
    next *= dims[axis];
  }
  strides[0] = next;
  return {dims, library_type(type), strides};
}

}  // namespace

std::string to_text(Layout layout) {
  switch (layout) {
    case Layout::kAny:
      return "any";
    case Layout::kPlain:
      return "plain";
    case Layout::kChannelsLast:
      return "channels_last";
    case Layout::kBlocked16:
      return "blocked16";
    case Layout::kBlocked8:
      return "blocked8";
  }
  return "unknown";
}

dnnl::memory::data_type library_type(model::DataType type) {
  using LibraryType = dnnl::memory::data_type;
  switch (type) {
    case model::DataType::kF32:
      return LibraryType::f32;
    case model::DataType::kBf16:
      return LibraryType::bf16;
    case model::DataType::kF16:
      return LibraryType::f16;
    case model::DataType::kS32:
      return LibraryType::s32;
    case model::DataType::kS8:
      return LibraryType::s8;
    case model::DataType::kU8:
    case model::DataType::kBool:
      return LibraryType::u8;
    default:
      throw Unsupported(
          fmt::format("oneDNN has no element type {} on a CPU", model::to_text(type)));
  }
}

Dims dense_strides(const Dims& dims) {
  Dims strides(dims.size());
  dnnl::memory::dim next = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = next;
    next *= dims[axis] > 0 ? dims[axis] : 1;
  }
  return strides;
}

dnnl::memory::desc dense(model::DataType type, const Dims& dims) {
  if (dims.empty()) {
    return dense(type, Dims{1});
  }
  check_rank(dims);
  return {dims, library_type(type), dense_strides(dims)};
}

dnnl::memory::desc dense(const model::TensorType& type) {
  return dense(type.dtype, type.dims);
}

dnnl::memory::desc any(model::DataType type, const Dims& dims) {
  check_rank(dims);
  return {dims, library_type(type), Tag::any};
}

dnnl::memory::desc activation(model::DataType type, const Dims& dims, Layout layout) {
  switch (layout) {
    case Layout::kAny:
      return any(type, dims);
    case Layout::kChannelsLast:
      check_rank(dims);
      return dims.size() > 2 ? channels_last(type, dims) : dense(type, dims);
    case Layout::kBlocked16:
    case Layout::kBlocked8:
      return {dims, library_type(type), blocked_tag(dims.size(), layout == Layout::kBlocked16)};
    case Layout::kPlain:
      break;
  }
  return dense(type, dims);
}

std::vector<Layout> given_layouts(std::size_t rank) {
  if (rank < 3 || rank > 5) {
    return {Layout::kPlain};
  }
  return {Layout::kPlain, Layout::kBlocked16, Layout::kBlocked8, Layout::kChannelsLast};
}

Dims padded_to_rank(const std::vector<std::int64_t>& dims, std::size_t rank) {
  Dims padded(rank > dims.size() ? rank - dims.size() : 0, 1);
  padded.insert(padded.end(), dims.begin(), dims.end());
  return padded;
}

Argument input(const model::LayerSpec& spec,
               int index,
               std::size_t operand,
               dnnl::memory::desc view) {
  return {index,
          Buffer::Role::kInput,
          operand,
          spec.inputs.at(operand).value().constant,
          std::move(view)};
}

Argument output(int index, std::size_t operand, dnnl::memory::desc view) {
  return {index, Buffer::Role::kOutput, operand, false, std::move(view)};
}

namespace {

struct EltwiseRow {
  std::string_view fn;
  dnnl_alg_kind_t kind;
  float alpha;
  float beta;
  std::size_t parameters;  ///< number of the key's parameters that set alpha and beta
};

constexpr std::array<EltwiseRow, 21> kEltwise{{
    {"relu", dnnl_eltwise_relu, 0, 0, 0},
    {"leaky_relu", dnnl_eltwise_relu, 0, 0, 1},
    {"elu", dnnl_eltwise_elu, 0, 0, 1},
    {"sigmoid", dnnl_eltwise_logistic, 0, 0, 0},
    {"tanh", dnnl_eltwise_tanh, 0, 0, 0},
    {"softplus", dnnl_eltwise_soft_relu, 1, 0, 0},
    {"hard_sigmoid", dnnl_eltwise_hardsigmoid, 0, 0, 2},
    {"hard_swish", dnnl_eltwise_hardswish, 1.0F / 6, 0.5F, 0},
    {"silu", dnnl_eltwise_swish, 1, 0, 0},
    {"gelu_erf", dnnl_eltwise_gelu_erf, 0, 0, 0},
    {"gelu_tanh", dnnl_eltwise_gelu_tanh, 0, 0, 0},
    {"mish", dnnl_eltwise_mish, 0, 0, 0},
    {"clip", dnnl_eltwise_clip_v2, 0, 0, 2},
    {"exp", dnnl_eltwise_exp, 0, 0, 0},
    {"log", dnnl_eltwise_log, 0, 0, 0},
    {"sqrt", dnnl_eltwise_sqrt, 0, 0, 0},
    {"reciprocal", dnnl_eltwise_pow, 1, -1, 0},
    {"abs", dnnl_eltwise_abs, 0, 0, 0},
    {"neg", dnnl_eltwise_linear, -1, 0, 0},
    {"linear", dnnl_eltwise_linear, 0, 0, 2},
    {"round", dnnl_eltwise_round, 0, 0, 0},
}};

struct BinaryRow {
  std::string_view fn;
  dnnl_alg_kind_t kind;
};

constexpr std::array<BinaryRow, 11> kBinary{{
    {"add", dnnl_binary_add},
    {"sub", dnnl_binary_sub},
    {"mul", dnnl_binary_mul},
    {"div", dnnl_binary_div},
    {"max", dnnl_binary_max},
    {"min", dnnl_binary_min},
    {"equal", dnnl_binary_eq},
    {"greater", dnnl_binary_gt},
    {"less", dnnl_binary_lt},
    {"greater_equal", dnnl_binary_ge},
    {"less_equal", dnnl_binary_le},
}};

/// Sets the deterministic attribute by a function that is looked up by name. The function is newer
/// (3.4) than the headers that the backend is compiled with.
void set_deterministic(const dnnl::primitive_attr& attributes) {
  using Setter = dnnl_status_t (*)(dnnl_primitive_attr_t, int);
  void* const symbol = dlsym(RTLD_DEFAULT, "dnnl_primitive_attr_set_deterministic");
  if (symbol == nullptr) {
    throw Unsupported("math=deterministic needs oneDNN 3.4 or later");
  }
  dnnl::error::wrap_c_api(reinterpret_cast<Setter>(symbol)(attributes.get(), 1),
                          "cannot ask for deterministic results");
}

/// Makes the forms of operands that numpy's rule broadcasts to a result. Operands of the result's
/// size have its layout.
PostOperations::OperandForms broadcast_forms(const dnnl::memory::dims& result, Layout layout) {
  return [=](const model::TensorType& type) {
    const dnnl::memory::dims dims = padded_to_rank(type.dims, result.size());
    const dnnl::memory::desc view = dense(type.dtype, dims);
    return PostOperations::OperandForm{dims == result ? activation(type.dtype, dims, layout) : view,
                                       view};
  };
}

}  // namespace

std::optional<PostOperations::Algorithm> eltwise_algorithm(const std::string& fn,
                                                           const std::vector<double>& parameters) {
  if (fn == "celu" && parameters.size() == 1 && parameters[0] == 1.0) {
    return PostOperations::Algorithm{dnnl_eltwise_elu, 1, 0};
  }
  for (const EltwiseRow& row : kEltwise) {
    if (row.fn != fn) {
      continue;
    }
    if (parameters.size() != row.parameters) {
      throw Unsupported(fmt::format(
          "eltwise fn={} takes {} parameters, not {}", fn, row.parameters, parameters.size()));
    }
    return PostOperations::Algorithm{
        row.kind,
        row.parameters > 0 ? static_cast<float>(parameters[0]) : row.alpha,
        row.parameters > 1 ? static_cast<float>(parameters[1]) : row.beta};
  }
  return std::nullopt;
}

std::optional<dnnl_alg_kind_t> binary_algorithm(const std::string& fn) {
  for (const BinaryRow& row : kBinary) {
    if (row.fn == fn) {
      return row.kind;
    }
  }
  return std::nullopt;
}

dnnl::primitive_attr make_attributes(const model::LayerSpec& spec) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const bool floating = !spec.outputs.empty() && model::is_floating(spec.outputs.front().dtype) &&
                        !model::is_integer_product(spec);
  if (floating && spec.accumulate != model::DataType::kF32) {
    throw Unsupported(fmt::format("oneDNN accumulates floating-point layers in f32, not in {}",
                                  to_text(spec.accumulate)));
  }
  switch (spec.math) {
    case model::LayerSpec::MathClass::kStrict:
      attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
      break;
    case model::LayerSpec::MathClass::kTf32:
      attributes.set_fpmath_mode(dnnl::fpmath_mode::tf32);
      break;
    case model::LayerSpec::MathClass::kDownConvert:
      attributes.set_fpmath_mode(dnnl::fpmath_mode::any);
      break;
    case model::LayerSpec::MathClass::kDeterministic:
      attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
      set_deterministic(attributes);
      break;
  }
  return attributes;
}

void fuse_relu(const model::LayerSpec& spec, dnnl::primitive_attr& attributes) {
  if (spec.epilogue.size() == 1 && spec.epilogue[0].fn == "relu") {
    dnnl::post_ops posts;
    posts.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
    attributes.set_post_ops(posts);
  } else if (!spec.epilogue.empty()) {
    throw Unsupported(fmt::format("oneDNN fuses nothing but relu into {}", spec.op));
  }
}

void PostOperations::append_scale(float factor) {
  if (factor != 1.0F) {
    list.append_eltwise(dnnl::algorithm::eltwise_linear, factor, 0.0F);
  }
}

void PostOperations::append_binary(const model::LayerSpec& spec,
                                   dnnl_alg_kind_t kind,
                                   std::size_t operand,
                                   const dnnl::memory::dims& result,
                                   Layout layout) {
  append_binary(spec, kind, operand, broadcast_forms(result, layout));
}

void PostOperations::append_binary(const model::LayerSpec& spec,
                                   dnnl_alg_kind_t kind,
                                   std::size_t operand,
                                   const OperandForms& form_of) {
  if (!spec.has_input(operand)) {
    throw Unsupported(
        fmt::format("the epilogue reads operand {}, which the key does not have", operand));
  }
  const OperandForm form = form_of(*spec.inputs[operand]);
  const int index = DNNL_ARG_ATTR_MULTIPLE_POST_OP(list.len()) | DNNL_ARG_SRC_1;
  list.append_binary(static_cast<dnnl::algorithm>(kind), form.read);
  arguments.push_back(input(spec, index, operand, form.view));
}

void PostOperations::append_epilogue(const model::LayerSpec& spec,
                                     const dnnl::memory::dims& result,
                                     Layout layout) {
  append_epilogue(spec, broadcast_forms(result, layout));
}

void PostOperations::append_epilogue(const model::LayerSpec& spec, const OperandForms& form_of) {
  for (const model::Epilogue& epilogue : spec.epilogue) {
    if (epilogue.operand) {
      const auto kind = binary_algorithm(epilogue.fn);
      if (!kind) {
        throw Unsupported(fmt::format("oneDNN fuses no binary fn={}", epilogue.fn));
      }
      append_binary(spec, *kind, *epilogue.operand, form_of);
      continue;
    }
    const auto function = eltwise_algorithm(epilogue.fn, epilogue.parameters);
    if (!function) {
      throw Unsupported(fmt::format("oneDNN fuses no eltwise fn={}", epilogue.fn));
    }
    list.append_eltwise(
        static_cast<dnnl::algorithm>(function->kind), function->alpha, function->beta);
  }
}

}  // namespace plumb::onednn
