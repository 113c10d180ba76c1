// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "harness/model/key/operator_families.hpp"
#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/exec/variant_builder.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;
using Description = dnnl::primitive_desc_base;

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// Decomposition of a layer into a product, a softmax and a product.
struct Form {
  bool folded = false;      ///< heads that share a key are rows of one product
  bool mask_apart = false;  ///< the mask is added by a primitive of its own
  model::DataType scores = model::DataType::kF32;
};

/// Tensor that is added to the scores.
struct Mask {
  std::size_t buffer = 0;
  Desc view;
};

/// Plan of one form, composed of the library's primitives. Tensors are named by their axes: q is
/// [batch, kv_heads, repeats, queries, head], and so on. The repeats are left out where there is
/// only one, or folded into the queries.
class Composition {
 public:
  Composition(const model::LayerSpec& spec, const Device& device, const Form& form)
      : spec_(spec), device_(device), form_(form), s_(model::attention_shape(spec)) {
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
      add_buffer(
          Buffer::Role::kInput, i, spec.has_input(i) ? model::byte_size(*spec.inputs[i]) : Bytes{});
      plan_.buffers.back().weight = spec.has_input(i) && spec.inputs[i]->constant;
    }
    for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
      plan_.outputs.push_back(
          add_buffer(Buffer::Role::kOutput, i, model::byte_size(spec.outputs[i])));
    }
    keys_ = whole_sequence(1, 4, 'k', s_.head);
    values_ = whole_sequence(2, 5, 'v', s_.value_head);
    add_masks();
    multiply_queries();
    add_masks_apart();
    normalise();
    multiply_values();
    clear_rows_without_keys();
  }

  [[nodiscard]] ExecutionPlan take() {
    plan_.implementation = implementation();
    return std::move(plan_);
  }

  /// Names the library's implementations. The name begins with ref if one of them is reference
  /// code.
  [[nodiscard]] std::string implementation() const {
    return (reference_ ? "ref+composed:" : "composed:") + names_;
  }

  /// Returns whether a mask is added at all.
  [[nodiscard]] bool has_mask() const { return !masks_.empty(); }

 private:
  std::size_t add_buffer(Buffer::Role role, std::size_t operand, Bytes bytes) {
    Buffer buffer;
    buffer.role = role;
    buffer.operand = operand;
    buffer.bytes = static_cast<std::size_t>(bytes.value);
    plan_.buffers.push_back(std::move(buffer));
    return plan_.buffers.size() - 1;
  }

  /// Returns the buffer of all keys or values. Earlier and new ones are joined if there are earlier
  /// ones, or if the joined sequence is an output.
  std::size_t whole_sequence(std::size_t operand,
                             std::size_t past,
                             char letter,
                             std::int64_t numbers) {
    const std::size_t place = spec_.text("outputs").find(letter);
    const bool given = place != std::string::npos;
    if (s_.past == 0 && !given) {
      return operand;
    }
    const model::DataType type = spec_.inputs[operand]->dtype;
    const Dims whole{s_.batch, s_.kv_heads, s_.keys, numbers};
    const std::size_t target =
        given ? plan_.outputs[place]
              : add_buffer(Buffer::Role::kIntermediate,
                           0,
                           model::byte_size(model::TensorType{type, whole, false, {}}));
    const Dims strides = dense_strides(whole);
    const auto copy = [&](std::size_t from, const Desc& source, std::int64_t start) {
      const Desc part(source.get_dims(), library_type(type), strides);
      dnnl::primitive_attr attributes;
      attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      const dnnl::reorder::primitive_desc description(device_, source, device_, part, attributes);
      const auto offset = static_cast<std::size_t>(start * numbers * model::element_bytes(type));
      add_step(description,
               {{DNNL_ARG_FROM, from, source, 0}, {DNNL_ARG_TO, target, part, offset}});
    };
    if (s_.past > 0) {
      copy(past, dense(*spec_.inputs[past]), 0);
    }
    const std::int64_t length = s_.new_keys();
    copy(operand,
         {{s_.batch, s_.kv_heads, length, numbers},
          library_type(type),
          s_.heads_apart ? dense_strides({s_.batch, s_.kv_heads, length, numbers})
                         : Dims{length * s_.kv_heads * numbers, numbers, s_.kv_heads * numbers, 1}},
         s_.past);
    return target;
  }

  [[nodiscard]] std::int64_t repeats() const { return s_.q_heads / s_.kv_heads; }
  [[nodiscard]] bool has_repeats() const { return repeats() > 1 && !form_.folded; }
  [[nodiscard]] std::int64_t rows() const { return s_.queries * (form_.folded ? repeats() : 1); }

  /// Describes q or y, with `numbers` numbers for each head.
  [[nodiscard]] Desc rows_view(model::DataType type, std::int64_t numbers) const {
    const std::int64_t all = s_.q_heads * numbers;
    const std::int64_t group =
        s_.heads_apart ? repeats() * s_.queries * numbers : repeats() * numbers;
    const std::int64_t head = s_.heads_apart ? s_.queries * numbers : numbers;
    // Folded queries lie one behind the other in either layout; folding is only offered where they
    // do.
    const std::int64_t row = s_.heads_apart || form_.folded ? numbers : all;
    Dims dims{s_.batch, s_.kv_heads, repeats(), rows(), numbers};
    Dims strides{s_.queries * all, group, head, row, 1};
    without_repeats(dims, strides);
    return {dims, library_type(type), strides};
  }

  /// Describes all keys (transposed) or all values.
  [[nodiscard]] Desc sequence_view(model::DataType type,
                                   std::int64_t numbers,
                                   bool joined,
                                   bool turned) const {
    const bool apart = s_.heads_apart || joined;
    const std::int64_t row = apart ? numbers : s_.kv_heads * numbers;
    Dims dims{s_.batch, s_.kv_heads, 1, s_.keys, numbers};
    Dims strides{s_.kv_heads * s_.keys * numbers,
                 apart ? s_.keys * numbers : numbers,
                 apart ? s_.keys * numbers : numbers,
                 row,
                 1};
    if (turned) {
      std::swap(dims[3], dims[4]);
      std::swap(strides[3], strides[4]);
    }
    without_repeats(dims, strides);
    return {dims, library_type(type), strides};
  }

  void without_repeats(Dims& dims, Dims& strides) const {
    if (!has_repeats()) {
      dims.erase(dims.begin() + 2);
      strides.erase(strides.begin() + 2);
    }
  }

  [[nodiscard]] Desc scores_view(model::DataType type) const {
    Dims dims{s_.batch, s_.kv_heads, repeats(), rows(), s_.keys};
    Dims unused = dims;
    without_repeats(dims, unused);
    return dense(type, dims);
  }

  /// Describes a mask that broadcasts to [batch, heads, queries, keys], in the dimensions of the
  /// scores.
  [[nodiscard]] Desc mask_view(model::DataType type, const std::vector<std::int64_t>& mask) const {
    Dims dims = padded_to_rank(mask, 4);
    if (has_repeats()) {
      const bool each = dims[1] > 1;
      dims[1] = each ? s_.kv_heads : 1;
      dims.insert(dims.begin() + 2, each ? repeats() : 1);
    }
    return dense(type, dims);
  }

  void add_masks() {
    if (spec_.has_input(3)) {
      const model::TensorType& given = *spec_.inputs[3];
      std::size_t buffer = 3;
      if (given.dtype == model::DataType::kBool) {
        const auto count = static_cast<std::size_t>(element_count(given));
        buffer = add_buffer(Buffer::Role::kIntermediate,
                            0,
                            Bytes{static_cast<std::int64_t>(count * sizeof(float))});
        plan_.steps.emplace_back(KernelStep([count, buffer](std::span<std::byte* const> buffers) {
          for (std::size_t i = 0; i < count; ++i) {
            const float value = buffers[3][i] != std::byte{0} ? 0.0F : kNever;
            std::memcpy(buffers[buffer] + i * sizeof(float), &value, sizeof(float));
          }
        }));
      }
      masks_.push_back(
          {buffer,
           mask_view(given.dtype == model::DataType::kBool ? model::DataType::kF32 : given.dtype,
                     given.dims)});
    }
    if (spec_.integer("causal") != 0 && s_.keys > s_.past + 1) {
      const Desc view = mask_view(model::DataType::kF32, {s_.queries, s_.keys});
      const std::size_t buffer = add_buffer(
          Buffer::Role::kIntermediate, 0, Bytes{static_cast<std::int64_t>(view.get_size())});
      plan_.buffers[buffer].view = plan_.buffers[buffer].layout = view;
      plan_.buffers[buffer].pack = [s = s_](const std::byte* /*operand*/, std::byte* packed) {
        for (std::int64_t query = 0; query < s.queries; ++query) {
          for (std::int64_t key = 0; key < s.keys; ++key, packed += sizeof(float)) {
            const float value = key > s.past + query ? kNever : 0.0F;
            std::memcpy(packed, &value, sizeof(float));
          }
        }
      };
      masks_.push_back({buffer, view});
    }
  }

  void multiply_queries() {
    const model::DataType type = spec_.inputs[0]->dtype;
    const Desc q = rows_view(type, s_.head);
    const Desc k = sequence_view(spec_.inputs[1]->dtype, s_.head, keys_ != 1, true);
    scores_ = scores_view(form_.scores);
    scores_buffer_ = add_buffer(
        Buffer::Role::kIntermediate, 0, Bytes{static_cast<std::int64_t>(scores_.get_size())});
    std::vector<PrimitiveStep::Argument> arguments{{DNNL_ARG_SRC, 0, q, 0},
                                                   {DNNL_ARG_WEIGHTS, keys_, k, 0},
                                                   {DNNL_ARG_DST, scores_buffer_, scores_, 0}};
    dnnl::post_ops posts;
    const auto scale = static_cast<float>(spec_.real("scale"));
    const auto cap = static_cast<float>(spec_.real("softcap"));
    posts.append_eltwise(dnnl::algorithm::eltwise_linear, cap > 0.0F ? scale / cap : scale, 0.0F);
    if (cap > 0.0F) {
      posts.append_eltwise(dnnl::algorithm::eltwise_tanh, 0.0F, 0.0F);
      posts.append_eltwise(dnnl::algorithm::eltwise_linear, cap, 0.0F);
    }
    for (std::size_t i = 0; !form_.mask_apart && i < masks_.size(); ++i) {
      arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(posts.len()) | DNNL_ARG_SRC_1,
                           masks_[i].buffer,
                           masks_[i].view,
                           0});
      posts.append_binary(dnnl::algorithm::binary_add, masks_[i].view);
    }
    dnnl::primitive_attr attributes = make_attributes(spec_);
    attributes.set_post_ops(posts);
    add_step(matmul(q, k, scores_, attributes), std::move(arguments), true);
  }

  void add_masks_apart() {
    for (std::size_t i = 0; form_.mask_apart && i < masks_.size(); ++i) {
      dnnl_primitive_desc_t made = nullptr;
      dnnl::error::wrap_c_api(dnnl_binary_primitive_desc_create(&made,
                                                                device_.get(),
                                                                dnnl_binary_add,
                                                                scores_.get(),
                                                                masks_[i].view.get(),
                                                                scores_.get(),
                                                                make_attributes(spec_).get()),
                              "cannot add the mask");
      add_step(Description(made),
               {{DNNL_ARG_SRC_0, scores_buffer_, scores_, 0},
                {DNNL_ARG_SRC_1, masks_[i].buffer, masks_[i].view, 0},
                {DNNL_ARG_DST, scores_buffer_, scores_, 0}},
               true);
    }
  }

  void normalise() {
    const model::DataType type = spec_.inputs[2]->dtype;
    weights_ = scores_view(type);
    weights_buffer_ = type == form_.scores
                          ? scores_buffer_
                          : add_buffer(Buffer::Role::kIntermediate,
                                       0,
                                       Bytes{static_cast<std::int64_t>(weights_.get_size())});
    dnnl_primitive_desc_t made = nullptr;
    dnnl::error::wrap_c_api(
        dnnl_softmax_forward_primitive_desc_create(&made,
                                                   device_.get(),
                                                   dnnl_forward_inference,
                                                   dnnl_softmax_accurate,
                                                   scores_.get(),
                                                   weights_.get(),
                                                   scores_.get_ndims() - 1,
                                                   make_attributes(spec_).get()),
        "cannot make the softmax");
    add_step(
        Description(made),
        {{DNNL_ARG_SRC, scores_buffer_, scores_, 0}, {DNNL_ARG_DST, weights_buffer_, weights_, 0}},
        true);
  }

  void multiply_values() {
    const Desc v = sequence_view(spec_.inputs[2]->dtype, s_.value_head, values_ != 2, false);
    const Desc y = rows_view(spec_.outputs[0].dtype, s_.value_head);
    add_step(matmul(weights_, v, y, make_attributes(spec_)),
             {{DNNL_ARG_SRC, weights_buffer_, weights_, 0},
              {DNNL_ARG_WEIGHTS, values_, v, 0},
              {DNNL_ARG_DST, plan_.outputs[0], y, 0}},
             true);
  }

  /// Clears the rows of queries that a boolean mask leaves without a key. Their softmax is not a
  /// number, while ONNX wants zeros.
  void clear_rows_without_keys() {
    if (!spec_.has_input(3) || spec_.inputs[3]->dtype != model::DataType::kBool) {
      return;
    }
    const Dims mask = padded_to_rank(spec_.inputs[3]->dims, 4);
    const auto row = static_cast<std::size_t>(s_.value_head) *
                     static_cast<std::size_t>(model::element_bytes(spec_.outputs[0].dtype));
    const bool causal = spec_.integer("causal") != 0;
    plan_.steps.emplace_back(KernelStep([=, s = s_, y = plan_.outputs[0]](
                                            std::span<std::byte* const> buffers) {
      const auto at = [](std::int64_t index, std::int64_t extent) {
        return extent > 1 ? index : 0;
      };
      for (std::int64_t b = 0; b < s.batch; ++b) {
        for (std::int64_t h = 0; h < s.q_heads; ++h) {
          for (std::int64_t q = 0; q < s.queries; ++q) {
            const std::byte* keys =
                buffers[3] +
                ((at(b, mask[0]) * mask[1] + at(h, mask[1])) * mask[2] + at(q, mask[2])) * mask[3];
            const std::int64_t seen = causal ? std::min(s.keys, s.past + q + 1) : s.keys;
            if (std::find(keys, keys + seen, std::byte{1}) == keys + seen) {
              const std::int64_t place = s.heads_apart ? (b * s.q_heads + h) * s.queries + q
                                                       : (b * s.queries + q) * s.q_heads + h;
              std::memset(buffers[y] + static_cast<std::size_t>(place) * row, 0, row);
            }
          }
        }
      }
    }));
  }

  [[nodiscard]] Description matmul(const Desc& a,
                                   const Desc& b,
                                   const Desc& c,
                                   const dnnl::primitive_attr& attributes) const {
    dnnl_primitive_desc_t made = nullptr;
    dnnl::error::wrap_c_api(
        dnnl_matmul_primitive_desc_create(
            &made, device_.get(), a.get(), b.get(), nullptr, c.get(), attributes.get()),
        "cannot make a product");
    return Description(made);
  }

  void add_step(const Description& description,
                std::vector<PrimitiveStep::Argument> arguments,
                bool named = false) {
    if (named) {
      const std::string name = description.impl_info_str();
      reference_ = reference_ || name.rfind("ref", 0) == 0;
      names_ += (names_.empty() ? "" : "+") + name;
    }
    PrimitiveStep step;
    step.primitive = make_primitive(description, plan_);
    step.arguments = std::move(arguments);
    plan_.steps.emplace_back(std::move(step));
  }

  const model::LayerSpec& spec_;
  const Device& device_;
  Form form_;
  model::AttentionShape s_;
  ExecutionPlan plan_;
  std::vector<Mask> masks_;
  std::size_t keys_ = 1;
  std::size_t values_ = 2;
  Desc scores_, weights_;
  std::size_t scores_buffer_ = 0;
  std::size_t weights_buffer_ = 0;
  std::string names_;
  bool reference_ = false;
};

std::vector<Form> list_forms(const model::LayerSpec& spec) {
  const model::AttentionShape s = model::attention_shape(spec);
  const bool mask = spec.has_input(3) || (spec.integer("causal") != 0 && s.keys > s.past + 1);
  const bool foldable = s.q_heads > s.kv_heads && !mask && (s.heads_apart || s.queries == 1);
  std::vector<model::DataType> scores{model::DataType::kF32};
  if (spec.inputs[0]->dtype != model::DataType::kF32) {
    scores.push_back(spec.inputs[0]->dtype);
  }
  std::vector<Form> forms;
  for (const model::DataType type : scores) {
    if (foldable) {
      forms.push_back({true, false, type});
    }
    forms.push_back({false, false, type});
    if (mask) {
      forms.push_back({false, true, type});
    }
  }
  return forms;
}

}  // namespace

/// Adds attention as a product, a softmax and a product of the library's. The library has no fused
/// attention (up to 3.2 on CPUs), so the scores lie in memory between the steps.
void offer_attention(const model::LayerSpec& spec,
                     const Device& device,
                     VariantBuilder::List& list) {
  if (!spec.epilogue.empty()) {
    throw Unsupported("nothing can be fused after a composed attention");
  }
  const model::AttentionShape s = model::attention_shape(spec);
  constexpr double kMost = 1099511627776.0;  // 2^40, as of any operand
  if (static_cast<double>(s.batch * s.q_heads) * static_cast<double>(s.queries) *
          static_cast<double>(s.keys) >
      kMost) {
    throw Unsupported("a composed attention stores its scores, which are too many");
  }
  std::string refusal;
  for (const Form& form : list_forms(spec)) {
    try {
      const Composition tried(spec, device, form);
      VariantBuilder builder;
      builder.implementation = tried.implementation();
      builder.details = fmt::format("scores={};heads={}{}",
                                    model::to_text(form.scores),
                                    form.folded ? "folded" : "apart",
                                    !tried.has_mask() ? ""
                                    : form.mask_apart ? ";mask=apart"
                                                      : ";mask=fused");
      builder.build = [spec, device, form] { return Composition(spec, device, form).take(); };
      list.add(std::move(builder));
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_out_of_memory) {
        throw;
      }
      refusal = fmt::format("{} ({})", status_text(error.status), error.what());
    }
  }
  if (list.empty()) {
    throw Unsupported(refusal);
  }
}

}  // namespace plumb::onednn
