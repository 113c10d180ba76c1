// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "tests/golden/plans/model_planner.hpp"

namespace plumb::golden {

/// Texts of what only a backend can describe.
struct BackendLines {
  std::function<std::string(std::size_t buffer)> layout;
  std::function<std::string(std::size_t step)> step;
  std::vector<std::string> rest;  ///< further lines
};

/// Describes one buffer of a plan.
template <typename Buffer>
std::string buffer_line(const Buffer& buffer, const std::string& layout) {
  if (buffer.bytes == 0) {
    return "none";
  }
  std::string line;
  if (buffer.role == Buffer::Role::kInput) {
    line = fmt::format("operand {}", buffer.operand);
  } else {
    line = buffer.role == Buffer::Role::kOutput ? "output" : "result";
  }
  line += buffer.weight ? " weight" : "";
  line += buffer.arena ? fmt::format(" at {}", *buffer.arena) : "";
  return line + fmt::format(" of {} bytes: {}", buffer.bytes, layout);
}

/// Describes a model's plan. `uses` are the buffers of its steps.
template <typename ModelPlan, typename Uses>
PlanText plan_text(const model::Graph& graph,
                   const ModelPlan& model,
                   const Uses& uses,
                   std::size_t scratch,
                   const BackendLines& lines) {
  const auto& plan = model.plan;
  PlanText result;
  result.figures =
      fmt::format("{} buffers, {} steps, {} reorders of {} bytes, arena {}, scratch {}",
                  plan.buffers.size(),
                  plan.steps.size(),
                  model.reorders,
                  model.reordered.value,
                  plan.arena_bytes,
                  scratch);
  std::vector<std::string> text{plan.implementation, result.figures};
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    text.push_back(fmt::format("buffer {}: {}", i, buffer_line(plan.buffers[i], lines.layout(i))));
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const auto& origin = model.origins.at(i);
    text.push_back(fmt::format("step {}: {}{}, reads {}, writes {}: {}",
                               i,
                               origin.layer ? graph.layers[*origin.layer].name : "no layer",
                               origin.reorder ? " (reorder)" : "",
                               fmt::join(uses.at(i).reads, " "),
                               fmt::join(uses.at(i).writes, " "),
                               lines.step(i)));
  }
  text.insert(text.end(), lines.rest.begin(), lines.rest.end());
  text.push_back(fmt::format("outputs {}", fmt::join(plan.outputs, " ")));
  for (std::size_t i = 0; i < model.operands.size(); ++i) {
    text.push_back(fmt::format("operand {}: {}", i, graph.values[model.operands[i]].name));
  }
  for (std::size_t i = 0; i < model.variants.size(); ++i) {
    text.push_back(fmt::format("layer {}: {}", graph.layers[i].name, model.variants[i]));
  }
  result.text = fmt::format("{}\n", fmt::join(text, "\n"));
  return result;
}

}  // namespace plumb::golden
