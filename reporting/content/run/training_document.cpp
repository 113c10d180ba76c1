// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/training_document.hpp"

#include <fmt/format.h>

#include <ostream>
#include <string_view>
#include <vector>

#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

/// Part of a training step, with what its layers compute and move.
struct Phase {
  std::string_view name;
  model::GraphTotals totals;
  Bytes bytes;
};

std::vector<Phase> phases_of(const ShownStep& step) {
  const rewrite::TrainingGraph& training = step.training;
  const auto phase = [&](std::string_view name, model::LayerId from, model::LayerId to) {
    model::Graph part;
    Phase result{name, {}, {}};
    for (model::LayerId id = from; id < to; ++id) {
      const model::Layer& layer = training.graph.layers[id];
      result.bytes =
          result.bytes + layer.cost.input_bytes + layer.cost.weight_bytes + layer.cost.output_bytes;
      part.layers.push_back(layer);
    }
    result.totals = model::totals(part);
    return result;
  };
  const model::LayerId end = training.graph.layers.size();
  const model::LayerId update = step.optimizer ? step.first_update_layer : end;
  std::vector<Phase> phases{phase("forward", 0, training.first_loss_layer),
                            phase("loss", training.first_loss_layer, training.first_backward_layer),
                            phase("backward", training.first_backward_layer, update)};
  if (step.optimizer) {
    phases.push_back(phase("update", update, end));
  }
  return phases;
}

analysis::Json names_of(const rewrite::TrainingGraph& training,
                        const std::vector<model::ValueId>& values) {
  analysis::Json names = analysis::Json::array();
  for (const model::ValueId value : values) {
    names.push_back(training.graph.values[value].name);
  }
  return names;
}

analysis::Json training_document(const ShownStep& step) {
  const rewrite::TrainingGraph& training = step.training;
  analysis::Json result = model_document(training.graph);
  result["loss"] = rewrite::to_text(training.loss_kind);
  if (step.optimizer) {
    result["optimizer"] = rewrite::to_text(*step.optimizer);
  }
  result["phases"] = analysis::Json::array();
  for (const Phase& phase : phases_of(step)) {
    result["phases"].push_back({{"name", phase.name},
                                {"layers", phase.totals.layers},
                                {"unique_layers", phase.totals.unique_layers},
                                {"macs", phase.totals.macs},
                                {"macs_saturated", phase.totals.macs_saturated},
                                {"bytes", phase.bytes.value}});
  }
  result["gradients"] = analysis::Json::array();
  for (const rewrite::ParameterGradient& each : training.gradients) {
    result["gradients"].push_back({{"parameter", training.graph.values[each.parameter].name},
                                   {"gradient", training.graph.values[each.gradient].name}});
  }
  result["missing"] = training.missing;
  result["incomplete"] = names_of(training, training.incomplete);
  result["unreached"] = names_of(training, training.unreached);
  return result;
}

}  // namespace

void write_training(const ShownStep& step, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kJson) {
    return write_json(training_document(step), out);
  }
  const rewrite::TrainingGraph& training = step.training;
  out << fmt::format("{}  one step of training, {}{}{}: {} gradients of {} parameters ({})\n",
                     sanitize_utf8(training.graph.name),
                     rewrite::to_text(training.loss_kind),
                     step.optimizer ? " by " : "",
                     step.optimizer ? rewrite::to_text(*step.optimizer) : "",
                     training.gradients.size(),
                     count_text(static_cast<double>(training.graph.parameters)),
                     bytes_text(training.graph.weight_bytes));
  AlignedTable table(
      {{"phase"}, {"layers", true}, {"unique", true}, {"MACs", true}, {"bytes", true}});
  for (const Phase& phase : phases_of(step)) {
    table.add({std::string(phase.name),
               std::to_string(phase.totals.layers),
               std::to_string(phase.totals.unique_layers),
               (phase.totals.macs_saturated ? "more than " : "") +
                   count_text(static_cast<double>(phase.totals.macs)),
               bytes_text(phase.bytes)});
  }
  table.write(out);
  for (const std::string& layer : training.missing) {
    out << "no gradient: " << sanitize_utf8(layer) << '\n';
  }
  const auto list = [&](const char* what, const std::vector<model::ValueId>& values) {
    for (const model::ValueId value : values) {
      out << what << sanitize_utf8(training.graph.values[value].name) << '\n';
    }
  };
  list("not known, because of these: ", training.incomplete);
  list("the loss does not depend on: ", training.unreached);
}

}  // namespace plumb::reporting
