// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/spec_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/model/key/op_schema.hpp"

namespace plumb::model {
namespace {

using Problem = std::optional<SpecProblem>;

Problem problem(std::string field, std::string text) {
  return SpecProblem{std::move(field), std::move(text)};
}

Problem check_operands(const LayerSpec& spec, const OpSchema& schema) {
  std::size_t extra = 0;  // operands that only the epilogue reads stand behind the operator's own
  for (const Epilogue& step : spec.epilogue) {
    extra += step.operand.has_value() ? 1U : 0U;
  }
  const std::size_t own = spec.inputs.size() - std::min(extra, spec.inputs.size());
  if (spec.inputs.size() < schema.min_inputs || own > schema.max_inputs) {
    return problem("in", fmt::format("{} operands for operator '{}'", spec.inputs.size(), spec.op));
  }
  for (std::size_t i = 0; i < schema.min_inputs; ++i) {
    if (!spec.inputs[i]) {
      return problem("in", fmt::format("operand {} of operator '{}' is missing", i, spec.op));
    }
  }
  if (spec.outputs.empty() || spec.outputs.size() > schema.max_outputs) {
    return problem("out",
                   fmt::format("{} outputs for operator '{}'", spec.outputs.size(), spec.op));
  }
  for (const TensorType& output : spec.outputs) {
    if (output.constant) {
      return problem("out", "an output cannot be constant");
    }
  }
  return std::nullopt;
}

Problem check_words(const LayerSpec& spec, const OpSchema& schema) {
  for (std::size_t i = 0; i < schema.attribute_count(); ++i) {
    const AttributeSchema& row = schema.attributes[i];
    if (row.kind == AttributeKind::kWord && !row.words.empty() &&
        !is_one_of(row.words, spec.text(std::string(row.name)))) {
      return problem(
          std::string(row.name),
          fmt::format("'{}' is not one of {}", spec.text(std::string(row.name)), row.words));
    }
  }
  return std::nullopt;
}

Problem check_function(const std::string& field, const std::string& fn, std::size_t parameters) {
  const std::optional<std::size_t> count = eltwise_parameter_count(fn);
  if (!count) {
    return problem(field, fmt::format("'{}' is not an element-wise function", fn));
  }
  if (*count != parameters) {
    return problem(field, fmt::format("'{}' takes {} parameters, not {}", fn, *count, parameters));
  }
  return std::nullopt;
}

Problem check_epilogue(const LayerSpec& spec) {
  for (const Epilogue& step : spec.epilogue) {
    if (is_binary_function(step.fn) || step.fn == kBitMask) {
      if (!step.operand || !spec.has_input(*step.operand) || !step.parameters.empty()) {
        return problem(
            "epilogue",
            fmt::format("'{}' needs '@' and the index of an operand, and no parameters", step.fn));
      }
    } else if (const std::optional<std::string_view> fn = function_of_gradient(step.fn)) {
      if (Problem wrong = check_function("epilogue", std::string(*fn), step.parameters.size())) {
        return wrong;
      }
      if (!step.operand || !spec.has_input(*step.operand)) {
        return problem("epilogue",
                       fmt::format("'{}' needs '@' and the index of an operand", step.fn));
      }
    } else if (Problem wrong = check_function("epilogue", step.fn, step.parameters.size())) {
      return wrong;
    } else if (step.operand) {
      return problem("epilogue", fmt::format("'{}' takes no operand", step.fn));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<SpecProblem> check_spec(const LayerSpec& spec) {
  const OpSchema* schema = find_op_schema(spec.op);
  if (schema == nullptr) {
    return problem("operator",
                   fmt::format("'{}' is not an operator of docs/reference/layer-keys.md", spec.op));
  }
  if (Problem wrong = check_operands(spec, *schema)) {
    return wrong;
  }
  if (Problem wrong = check_words(spec, *schema)) {
    return wrong;
  }
  if (Problem wrong = check_epilogue(spec)) {
    return wrong;
  }
  if (spec.op == "eltwise" || spec.op == "eltwise_backward") {
    if (Problem wrong = check_function("fn", spec.text("fn"), spec.reals("parameters").size())) {
      return wrong;
    }
  }
  if (spec.op == "eltwise_backward" && !function_of_gradient(spec.text("fn") + "_backward")) {
    return problem("fn", fmt::format("'{}' has no gradient", spec.text("fn")));
  }
  return check_shapes(spec);
}

}  // namespace plumb::model
