// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/reproducer/reproducer_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/base/cpp_literal.hpp"
#include "harness/base/error.hpp"
#include "harness/model/key/layer_cost.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/reproducer/descriptor_text.hpp"
#include "runners/onednn/reproducer/frame.hpp"
#include "runners/onednn/reproducer/primitive_text.hpp"

namespace plumb::onednn {
namespace {

[[noreturn]] void refuse(const std::string& variant, const std::string& why) {
  throw Error(
      Error::Kind::kUser,
      fmt::format("no reproducer can be written for the variant '{}': {}. Reproducers use the "
                  "library's primitives on operands as the key has them: convolution, matmul, "
                  "pooling, softmax, normalization, element-wise, reorder and similar ones",
                  variant,
                  why));
}

std::string numbers_text(const model::LayerSpec& spec,
                         std::size_t operand,
                         const std::string& variant) {
  const auto numbers = engine::operand_numbers(spec, operand);
  if (!numbers) {
    refuse(
        variant,
        fmt::format("operand {} does not hold plain numbers, but conditions or indices", operand));
  }
  return fmt::format("{{{}, {}, {}, {:.17g}, {:.17g}, {:.17g}}}",
                     numbers->whole,
                     numbers->either_sign,
                     numbers->largest,
                     numbers->low,
                     numbers->span,
                     numbers->scale);
}

std::string buffer_text(const model::LayerSpec& spec,
                        const Buffer& buffer,
                        const std::string& variant) {
  if (buffer.pack) {
    refuse(variant, "the harness packs an operand for it");
  }
  if (buffer.role == Buffer::Role::kIntermediate) {
    return fmt::format("{{Role::intermediate, 0, 0, type::f32, {{}}, false, {{}}, {}}}",
                       buffer.bytes);
  }
  const bool input = buffer.role == Buffer::Role::kInput;
  if (input && !spec.has_input(buffer.operand)) {
    return fmt::format("{{Role::intermediate, 0, 0, type::f32, {{}}, false, {{}}, {}}}",
                       buffer.bytes);
  }
  const model::TensorType& type =
      input ? *spec.inputs[buffer.operand] : spec.outputs[buffer.operand];
  const bool reordered = buffer.view != buffer.layout;
  return fmt::format("{{Role::{}, {}, {}, type::{}, {}, {}, {}, {}}}",
                     input ? "input" : "output",
                     buffer.operand,
                     element_count(type),
                     type_text(library_type(type.dtype)),
                     input ? numbers_text(spec, buffer.operand, variant) : "{}",
                     reordered,
                     reordered ? descriptor_text(buffer.view) : "{}",
                     buffer.bytes);
}

std::string step_text(const model::LayerSpec& spec,
                      const Step& step,
                      LeftToLibrary left,
                      const std::string& variant) {
  const auto* const primitive = std::get_if<PrimitiveStep>(&step);
  if (primitive == nullptr) {
    refuse(variant, "one of its steps is a built-in kernel");
  }
  std::vector<std::string> arguments;
  for (const PrimitiveStep::Argument& argument : primitive->arguments) {
    if (argument.index < DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE &&
        (argument.index & DNNL_ARG_ATTR_SCALES) != 0) {
      refuse(variant, "it reads scales");
    }
    arguments.push_back(fmt::format(
        "{{{}, {}, {}}}", argument_text(argument.index), argument.buffer, argument.offset));
  }
  const bool deterministic = spec.math == model::MathClass::kDeterministic;
  return fmt::format(
      "  {{\n{}    layer.steps.push_back(step({}(description), description,\n"
      "                               {{{}}}));\n  }}\n",
      primitive_text(primitive->primitive, deterministic, left),
      class_text(primitive->primitive),
      fmt::join(arguments, ", "));
}

std::string row_text(const results::Measurement& row) {
  return fmt::format("{{{:.9g}, {:.9g}, {:.9g}, {}, {}, {}}}",
                     row.summary.median.count(),
                     row.summary.interval.low.count(),
                     row.summary.interval.high.count(),
                     row.summary.n,
                     row.repetitions,
                     cpp_literal(row.output_hash));
}

std::string layer_text(const model::LayerSpec& spec,
                       const ReproducedVariant& variant,
                       std::size_t number) {
  const std::string& name = variant.row.variant;
  if (variant.plan.steps.empty()) {
    refuse(name, "nothing is executed: it is a view");
  }
  std::string text =
      fmt::format("Layer layer_{}(const dnnl::engine& engine) {{\n  Layer layer;\n", number);
  text += fmt::format("  layer.variant = {};\n", cpp_literal(name));
  text += fmt::format("  layer.row = {};\n", row_text(variant.row));
  for (const Buffer& buffer : variant.plan.buffers) {
    text += fmt::format("  layer.buffers.push_back({});\n", buffer_text(spec, buffer, name));
  }
  text += fmt::format("  layer.outputs = {{{}}};\n", fmt::join(variant.plan.outputs, ", "));
  LeftToLibrary left;  // between several steps, layouts are fixed
  left.weights = variant.plan.steps.size() == 1;
  left.activations = left.weights && name.find("layout=any") != std::string::npos;
  for (const Step& step : variant.plan.steps) {
    text += step_text(spec, step, left, name);
  }
  text += "  layer.expected = {";
  for (const auto& [place, value] : variant.expected) {
    text += fmt::format("{}{{{}, {:.9g}}}", text.back() == '{' ? "" : ", ", place, value);
  }
  return text + "};\n  return layer;\n}\n\n";
}

}  // namespace

std::string reproducer_source(const ReproducerSource& source) {
  std::string layers = fmt::format("constexpr const char* kKey = {};\n", cpp_literal(source.key));
  layers += fmt::format("constexpr const char* kLibrary = {};\n", cpp_literal(source.library));
  layers += fmt::format("constexpr std::uint64_t kSeed = {}U;\n", source.seed);
  const model::LayerCost cost = model::compute_cost(source.spec);
  layers += "/// What one execution multiplies and accumulates, and must read and write.\n";
  layers += fmt::format("[[maybe_unused]] constexpr std::int64_t kMacs = {};\n", cost.macs);
  layers += fmt::format("[[maybe_unused]] constexpr std::int64_t kBytes = {};\n\n",
                        (cost.input_bytes + cost.weight_bytes + cost.output_bytes).value);
  layers += "/// What the library was tuned by.\n";
  layers += "const std::vector<std::pair<const char*, const char*>> kVariables{\n";
  for (const auto& [name, value] : source.variables) {
    layers += fmt::format("    {{{}, {}}},\n", cpp_literal(name), cpp_literal(value));
  }
  layers += "};\n\n";
  std::vector<std::string> names;
  for (const ReproducedVariant& variant : source.variants) {
    names.push_back(fmt::format("layer_{}", names.size()));
    layers += layer_text(source.spec, variant, names.size() - 1);
  }
  layers += fmt::format("constexpr Layer (*kLayers[])(const dnnl::engine&) = {{{}}};\n",
                        fmt::join(names, ", "));
  const std::string_view frame = reproducer_frame();
  const std::size_t mark = frame.find(kLayersMark);
  PLUMB_CHECK(mark != std::string_view::npos);
  return std::string(frame.substr(0, mark)) + layers +
         std::string(frame.substr(mark + kLayersMark.size()));
}

}  // namespace plumb::onednn
