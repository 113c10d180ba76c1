// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>

#include "harness/model/key/operator_families.hpp"
#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/exec/variant_builder.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

// ONNX's positions of what oneDNN wants first, second and so on: gates i, f, c, o among i, o, f, c,
// and peepholes i, f, o among i, o, f. The gates of GRU have the same order in both.
const std::vector<std::size_t> kLstmGates{0, 2, 3, 1};
const std::vector<std::size_t> kPeepholes{0, 2, 1};

std::size_t size(std::int64_t extent) {
  return static_cast<std::size_t>(extent);
}

std::vector<std::size_t> gate_order(const model::LayerSpec& spec, std::int64_t gates) {
  if (spec.op == "lstm") {
    return kLstmGates;
  }
  std::vector<std::size_t> order;
  for (std::size_t gate = 0; gate < size(gates); ++gate) {
    order.push_back(gate);
  }
  return order;
}

/// Returns a packing that copies equal blocks, one for each gate, into another order, for each
/// direction.
Pack reordering(std::vector<std::size_t> order, std::int64_t directions, std::size_t block) {
  return [=, order = std::move(order)](const std::byte* operand, std::byte* packed) {
    for (std::size_t d = 0; d < size(directions); ++d) {
      for (std::size_t gate = 0; gate < order.size(); ++gate) {
        std::memcpy(packed + (d * order.size() + gate) * block,
                    operand + (d * order.size() + order[gate]) * block,
                    block);
      }
    }
  };
}

/// Returns a packing that adds the biases of input and state to one f32 for each gate. Where the
/// reset comes after the product, the last gate keeps both.
Pack adding(const model::LayerSpec& spec, const model::RecurrentShape& shape, bool keep_last) {
  return [=, order = gate_order(spec, shape.gates), type = spec.inputs[3]->dtype](
             const std::byte* operand, std::byte* packed) {
    const std::size_t hidden = size(shape.hidden);
    const std::size_t half = order.size() * hidden;
    std::vector<float> biases(size(shape.directions) * 2 * half);
    load(type, operand, biases.size(), biases.data());
    std::vector<float> sums;
    for (std::size_t d = 0; d < size(shape.directions); ++d) {
      const float* from_input = biases.data() + d * 2 * half;
      const float* from_state = from_input + half;
      for (std::size_t gate = 0; gate < order.size(); ++gate) {
        const bool apart = keep_last && gate + 1 == order.size();
        for (std::size_t i = order[gate] * hidden; i < (order[gate] + 1) * hidden; ++i) {
          sums.push_back(apart ? from_input[i] : from_input[i] + from_state[i]);
        }
      }
      if (keep_last) {
        sums.insert(sums.end(), from_state + half - hidden, from_state + half);
      }
    }
    std::memcpy(packed, sums.data(), sums.size() * sizeof(float));
  };
}

/// Description of a layer for oneDNN. An empty member description stands for "none".
struct Recurrent {
  model::RecurrentShape shape;
  Desc x, h0, c0, w, r, peephole, bias, y, h, c;  ///< as the primitive is asked for
  std::vector<Argument> arguments;
  std::vector<std::pair<std::size_t, Pack>> packs;  ///< by argument
  std::size_t y_argument = 0;
};

bool has_output(const model::LayerSpec& spec, char letter) {
  return spec.text("outputs").find(letter) != std::string::npos;
}

class Builder {
 public:
  Builder(const model::LayerSpec& spec, bool free) : spec_(spec), free_(free) {
    layer_.shape = model::recurrent_shape(spec);
    time_first_ = spec.integer("layout") == 0;
  }

  Recurrent build() {
    add_sequence();
    add_weights();
    add_first_states();
    add_outputs();
    return std::move(layer_);
  }

 private:
  [[nodiscard]] Desc asked(const Desc& view) const {
    return free_ ? Desc(view.get_dims(), view.get_data_type(), dnnl::memory::format_tag::any)
                 : view;
  }

  /// Describes [steps, batch, numbers] as ONNX has it.
  [[nodiscard]] Desc sequence(model::DataType type, std::int64_t numbers) const {
    const model::RecurrentShape& s = layer_.shape;
    return {
        {s.steps, s.batch, numbers},
        library_type(type),
        time_first_ ? Dims{s.batch * numbers, numbers, 1} : Dims{numbers, s.steps * numbers, 1}};
  }

  /// Describes [1, directions, batch, hidden] as ONNX has it.
  [[nodiscard]] Desc state(model::DataType type) const {
    const model::RecurrentShape& s = layer_.shape;
    const std::int64_t all = s.directions * s.batch * s.hidden;
    return {{1, s.directions, s.batch, s.hidden},
            library_type(type),
            time_first_ ? Dims{all, s.batch * s.hidden, s.hidden, 1}
                        : Dims{all, s.hidden, s.directions * s.hidden, 1}};
  }

  void add_sequence() {
    const Desc view = sequence(spec_.inputs[0]->dtype, layer_.shape.input);
    layer_.x = asked(view);
    layer_.arguments.push_back(input(spec_, DNNL_ARG_SRC_LAYER, 0, view));
  }

  void add_packed(int index, std::size_t operand, const Desc& view, Pack pack) {
    layer_.packs.emplace_back(layer_.arguments.size(), std::move(pack));
    layer_.arguments.push_back(input(spec_, index, operand, view));
  }

  Desc add_matrix(int index, std::size_t operand, std::int64_t depth) {
    const model::RecurrentShape& s = layer_.shape;
    const model::DataType type = spec_.inputs[operand]->dtype;
    const std::int64_t gate = s.hidden * depth;
    const Desc view({1, s.directions, depth, s.gates, s.hidden},
                    library_type(type),
                    Dims{s.directions * s.gates * gate, s.gates * gate, 1, gate, depth});
    add_packed(index,
               operand,
               view,
               reordering(gate_order(spec_, s.gates),
                          s.directions,
                          size(gate) * size(model::element_bytes(type))));
    return {view.get_dims(), view.get_data_type(), dnnl::memory::format_tag::any};
  }

  void add_weights() {
    const model::RecurrentShape& s = layer_.shape;
    layer_.w = add_matrix(DNNL_ARG_WEIGHTS_LAYER, 1, s.input);
    layer_.r = add_matrix(DNNL_ARG_WEIGHTS_ITER, 2, s.hidden);
    const bool apart = spec_.op == "gru" && spec_.integer("linear_before_reset") != 0;
    layer_.bias =
        dense(model::DataType::kF32, Dims{1, s.directions, s.gates + (apart ? 1 : 0), s.hidden});
    if (spec_.has_input(3)) {
      add_packed(DNNL_ARG_BIAS, 3, layer_.bias, adding(spec_, s, apart));
    } else {  // the library's layers have one: zeros
      layer_.arguments.push_back(
          {DNNL_ARG_BIAS, Buffer::Role::kIntermediate, 0, false, layer_.bias});
    }
    if (spec_.has_input(6)) {
      const model::DataType type = spec_.inputs[6]->dtype;
      const Dims dims{1, s.directions, 3, s.hidden};
      layer_.peephole = dense(model::DataType::kF32, dims);
      add_packed(DNNL_ARG_WEIGHTS_PEEPHOLE,
                 6,
                 dense(type, dims),
                 reordering(kPeepholes, s.directions, size(s.hidden * model::element_bytes(type))));
    }
  }

  /// Adds a state. If it is neither operand nor output, it is memory of the plan's: zeros, or not
  /// read. The library keeps cells of 16-bit layers in f32.
  Desc add_state(int index, std::size_t operand, bool is_input, bool given, bool cell) {
    const model::DataType type =
        given ? (is_input ? spec_.inputs[operand]->dtype : spec_.outputs[operand].dtype)
              : spec_.inputs[0]->dtype;
    const Desc view = state(type);
    if (!given) {
      layer_.arguments.push_back({index, Buffer::Role::kIntermediate, 0, false, view});
    } else {
      layer_.arguments.push_back(is_input ? input(spec_, index, operand, view)
                                          : output(index, operand, view));
    }
    return asked(cell ? state(model::DataType::kF32) : view);
  }

  void add_first_states() {
    if (!spec_.has_input(4) && !spec_.has_input(5)) {
      return;
    }
    layer_.h0 = add_state(DNNL_ARG_SRC_ITER, 4, true, spec_.has_input(4), false);
    if (spec_.op == "lstm") {
      layer_.c0 = add_state(DNNL_ARG_SRC_ITER_C, 5, true, spec_.has_input(5), true);
    }
  }

  void add_outputs() {
    const model::RecurrentShape& s = layer_.shape;
    const bool given = has_output(spec_, 'y');
    const model::DataType type = given ? spec_.outputs[0].dtype : spec_.inputs[0]->dtype;
    layer_.y_argument = layer_.arguments.size();
    // The sequence's own view has four dimensions, while the primitive sees both directions as one.
    const Desc view = dense(type, Dims{s.steps, s.directions, s.batch, s.hidden});
    layer_.arguments.push_back(
        given ? output(DNNL_ARG_DST_LAYER, 0, view)
              : Argument{DNNL_ARG_DST_LAYER, Buffer::Role::kIntermediate, 0, false, view});
    layer_.y = asked(sequence(type, s.directions * s.hidden));
    if (!has_output(spec_, 'h') && !has_output(spec_, 'c')) {
      return;
    }
    std::size_t next = given ? 1 : 0;
    layer_.h = add_state(DNNL_ARG_DST_ITER, next, false, has_output(spec_, 'h'), false);
    next += has_output(spec_, 'h') ? 1U : 0U;
    if (spec_.op == "lstm") {
      layer_.c = add_state(DNNL_ARG_DST_ITER_C, next, false, has_output(spec_, 'c'), true);
    }
  }

  const model::LayerSpec& spec_;
  bool free_;
  bool time_first_ = true;
  Recurrent layer_;
};

/// Gives the sequence's buffer four dimensions, [steps, directions, batch, hidden], in ONNX's and
/// the primitive's order.
void view_sequence(const model::LayerSpec& spec, const model::RecurrentShape& s, Buffer& buffer) {
  const Dims library = buffer.layout.get_strides();
  const Dims dims{s.steps, s.directions, s.batch, s.hidden};
  const std::int64_t row = s.directions * s.hidden;
  const Dims own =
      spec.integer("layout") == 0 ? dense_strides(dims) : Dims{row, s.hidden, s.steps * row, 1};
  buffer.view = {dims, buffer.layout.get_data_type(), own};
  buffer.layout = {
      dims, buffer.layout.get_data_type(), Dims{library[0], s.hidden, library[1], library[2]}};
}

/// Arranges the packing of operands. Constant ones are packed when bound, others before each
/// execution of the primitive.
void pack_operands(const model::LayerSpec& spec,
                   const Recurrent& layer,
                   const dnnl::engine& engine,
                   ExecutionPlan& plan) {
  std::vector<Step> before;
  for (const auto& [index, pack] : layer.packs) {
    if (plan.buffers[index].weight) {
      plan.buffers[index].pack = pack;
      continue;
    }
    const std::size_t own = plan.buffers.size();
    Buffer operand;
    operand.operand = plan.buffers[index].operand;
    operand.bytes = size(model::byte_size(*spec.inputs[operand.operand]).value);
    plan.buffers.push_back(std::move(operand));
    Buffer& target = plan.buffers[index];
    target.role = Buffer::Role::kIntermediate;
    const bool same = target.view == target.layout;
    const std::size_t packed = same ? index : plan.buffers.size();
    before.emplace_back(KernelStep([pack = pack, own, packed](std::span<std::byte* const> buffers) {
      pack(buffers[own], buffers[packed]);
    }));
    if (same) {
      continue;
    }
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::reorder::primitive_desc description(
        engine, target.view, engine, target.layout, attributes);
    PrimitiveStep reorder;
    reorder.primitive = make_primitive(description, plan);
    reorder.arguments = {{DNNL_ARG_FROM, packed, target.view, 0},
                         {DNNL_ARG_TO, index, target.layout, 0}};
    before.emplace_back(std::move(reorder));
    Buffer between;
    between.role = Buffer::Role::kIntermediate;
    between.bytes = plan.buffers[index].view.get_size();
    plan.buffers.push_back(std::move(between));
  }
  plan.steps.insert(plan.steps.begin(),
                    std::make_move_iterator(before.begin()),
                    std::make_move_iterator(before.end()));
}

dnnl_rnn_direction_t direction_of(const std::string& direction) {
  if (direction == "bidirectional") {
    return dnnl_bidirectional_concat;
  }
  return direction == "reverse" ? dnnl_unidirectional_right2left : dnnl_unidirectional_left2right;
}

dnnl_alg_kind_t activation_of(const std::string& fn) {
  if (fn == "relu") {
    return dnnl_eltwise_relu;
  }
  return fn == "tanh" ? dnnl_eltwise_tanh : dnnl_eltwise_logistic;
}

dnnl_status_t create(const model::LayerSpec& spec,
                     const Recurrent& layer,
                     const Device& device,
                     dnnl_primitive_desc_t* first) {
  const dnnl::primitive_attr attributes = make_attributes(spec);
  const dnnl_rnn_direction_t direction = direction_of(spec.text("direction"));
  dnnl_engine_t engine = device.get();
  if (spec.op == "lstm") {
    return dnnl_lstm_forward_primitive_desc_create(first,
                                                   engine,
                                                   dnnl_forward_inference,
                                                   direction,
                                                   layer.x.get(),
                                                   layer.h0.get(),
                                                   layer.c0.get(),
                                                   layer.w.get(),
                                                   layer.r.get(),
                                                   layer.peephole.get(),
                                                   nullptr,
                                                   layer.bias.get(),
                                                   layer.y.get(),
                                                   layer.h.get(),
                                                   layer.c.get(),
                                                   0,
                                                   attributes.get());
  }
  if (spec.op == "rnn") {
    return dnnl_vanilla_rnn_forward_primitive_desc_create(first,
                                                          engine,
                                                          dnnl_forward_inference,
                                                          activation_of(spec.text("fn")),
                                                          direction,
                                                          layer.x.get(),
                                                          layer.h0.get(),
                                                          layer.w.get(),
                                                          layer.r.get(),
                                                          layer.bias.get(),
                                                          layer.y.get(),
                                                          layer.h.get(),
                                                          0,
                                                          0.0F,
                                                          0.0F,
                                                          attributes.get());
  }
  const auto gru = spec.integer("linear_before_reset") != 0
                       ? dnnl_lbr_gru_forward_primitive_desc_create
                       : dnnl_gru_forward_primitive_desc_create;
  return gru(first,
             engine,
             dnnl_forward_inference,
             direction,
             layer.x.get(),
             layer.h0.get(),
             layer.w.get(),
             layer.r.get(),
             layer.bias.get(),
             layer.y.get(),
             layer.h.get(),
             0,
             attributes.get());
}

}  // namespace

void offer_recurrent(const model::LayerSpec& spec,
                     const Device& device,
                     VariantBuilder::List& list) {
  if (!spec.epilogue.empty()) {
    throw Unsupported("oneDNN fuses nothing into a recurrent layer");
  }
  const model::RecurrentShape shape = model::recurrent_shape(spec);
  if (shape.batch == 0 || shape.input == 0 || shape.hidden == 0) {
    throw Unsupported(fmt::format(
        "{} sequences of {} numbers a step, with {} hidden ones: oneDNN divides by each",
        shape.batch,
        shape.input,
        shape.hidden));
  }
  for (const Layout layout : {Layout::kAny, Layout::kPlain}) {
    const bool free = layout == Layout::kAny;
    if (!free && spec.integer("layout") == 0 && spec.text("direction") == "bidirectional") {
      continue;  // ONNX's [steps, 2, batch, hidden] is no [steps, batch, 2·hidden] with strides
    }
    const Recurrent layer = Builder(spec, free).build();
    dnnl_primitive_desc_t first = nullptr;
    const dnnl_status_t status = create(spec, layer, device, &first);
    const auto finish = [spec, layer, engine = device](ExecutionPlan& plan) {
      view_sequence(spec, layer.shape, plan.buffers[layer.y_argument]);
      pack_operands(spec, layer, engine, plan);
    };
    list.add_implementations(status, first, layer.arguments, "layout=" + to_text(layout), finish);
  }
}

}  // namespace plumb::onednn
