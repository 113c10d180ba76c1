// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/training_documents.hpp"

#include <fmt/format.h>

#include <ostream>
#include <string_view>
#include <vector>

#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/page.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

using analysis::Json;

constexpr std::string_view kArithmetic = "arithmetic over measured layers, not a measurement";

Json document_of(std::string_view basis) {
  Json document = analysis::new_document();
  document["basis"] = basis;
  return document;
}

std::string percent(double share) {
  return share_text(share, 2);
}

Json instance_json(const analysis::ModelInstance& instance) {
  Json json{{"model", instance.model}, {"batch", instance.batch}, {"dtype", instance.dtype}};
  if (!instance.training.empty()) {
    json["training"] = instance.training;
  }
  return json;
}

std::string title_of(const analysis::ModelInstance& instance) {
  return sanitize_utf8(to_text(instance, ", "));
}

Json memory_json(const model::Graph::Memory& memory) {
  return {{"inputs_bytes", memory.inputs.value},
          {"constants_bytes", memory.constants.value},
          {"results_bytes", memory.peak.value},
          {"total_bytes", memory.total().value}};
}

}  // namespace

void write_last_batches(const std::vector<analysis::LastBatch>& batches,
                        OutputMode style,
                        std::ostream& out) {
  if (style == OutputMode::kJson) {
    Json document = document_of("arithmetic");
    document["batches"] = Json::array();
    for (const analysis::LastBatch& each : batches) {
      document["batches"].push_back({{"samples", each.samples},
                                     {"batch", each.batch},
                                     {"steps", each.steps},
                                     {"wasted", each.wasted},
                                     {"share", each.share()}});
    }
    return write_json(document, out);
  }
  AlignedTable table({{"batch", true}, {"steps", true}, {"wasted", true}, {"share", true}});
  for (const analysis::LastBatch& each : batches) {
    table.add({std::to_string(each.batch),
               std::to_string(each.steps),
               std::to_string(each.wasted),
               percent(each.share())});
  }
  table.write(out);
}

void write_packings(const std::vector<analysis::Packing>& packings,
                    const analysis::Packing::GraphCounts& graphs,
                    OutputMode style,
                    std::ostream& out) {
  if (style == OutputMode::kJson) {
    Json document = document_of("arithmetic");
    document["packers"] = Json::array();
    for (const analysis::Packing& each : packings) {
      document["packers"].push_back({{"packer", to_text(each.packer)},
                                     {"sequences", each.sequences},
                                     {"samples", each.samples},
                                     {"tokens", each.tokens},
                                     {"padding", each.padding()},
                                     {"sequences_per_sample", each.sequences_per_sample()}});
    }
    document["graphs"] = {{"fewest_sequences", graphs.fewest_sequences},
                          {"most_sequences", graphs.most_sequences},
                          {"packed", graphs.packed},
                          {"unpadded", graphs.unpadded}};
    return write_json(document, out);
  }
  AlignedTable table(
      {{"packer"}, {"samples", true}, {"padding", true}, {"sequences a sample", true}});
  for (const analysis::Packing& each : packings) {
    table.add({std::string(to_text(each.packer)),
               std::to_string(each.samples),
               percent(each.padding()),
               fmt::format("{:.3f}", each.sequences_per_sample())});
  }
  table.write(out);
  out << fmt::format(
      "a batch has {} to {} sequences: {} captured graphs, and {} without padding in place of "
      "packing\n",
      graphs.fewest_sequences,
      graphs.most_sequences,
      graphs.packed,
      graphs.unpadded);
}

void write_largest_batch(const LargestBatch& found, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kJson) {
    Json document = document_of("memory of the graph, without what a library adds");
    document["model"] = found.model;
    document["training"] = found.optimizer;
    document["available_bytes"] = found.available.value;
    document["largest_batch"] = analysis::number_or_null(found.largest);
    document["largest_batch_checkpointing"] = analysis::number_or_null(found.checkpointed);
    document["batches"] = Json::array();
    for (const LargestBatch::Batch& each : found.batches) {
      document["batches"].push_back({{"batch", each.batch},
                                     {"plain", memory_json(each.memory)},
                                     {"checkpointing", memory_json(each.checkpointed)}});
    }
    return write_json(document, out);
  }
  const auto text = [](const std::optional<std::int64_t>& batch) {
    return batch ? std::to_string(*batch) : std::string("none");
  };
  out << fmt::format(
      "{}, training by {}: the largest batch in {} is {}, and {} with "
      "checkpointing\n",
      sanitize_utf8(found.model),
      found.optimizer,
      bytes_text(found.available),
      text(found.largest),
      text(found.checkpointed));
  AlignedTable table({{"batch", true},
                      {"inputs, weights and states", true},
                      {"results", true},
                      {"together", true},
                      {"checkpointing", true}});
  for (const LargestBatch::Batch& each : found.batches) {
    table.add({std::to_string(each.batch),
               bytes_text(each.memory.inputs + each.memory.constants),
               bytes_text(each.memory.peak),
               bytes_text(each.memory.total()),
               bytes_text(each.checkpointed.total())});
  }
  table.write(out);
}

void write_checkpoints(const std::vector<CheckpointFront>& fronts,
                       OutputMode style,
                       std::ostream& out) {
  Json document = document_of(kArithmetic);
  document["models"] = Json::array();
  for (const CheckpointFront& front : fronts) {
    Json model = instance_json(front.instance);
    model["step_seconds"] = front.step.count();
    model["plans"] = Json::array();
    AlignedTable table({{"memory", true},
                        {"results", true},
                        {"step", true},
                        {"more", true},
                        {"layers twice", true}});
    for (const analysis::MeasuredStep::Checkpoints& plan : front.plans) {
      const Seconds step = front.step + plan.recomputation;
      model["plans"].push_back({{"repeated_layers", plan.repeated},
                                {"memory", memory_json(plan.memory)},
                                {"predicted_seconds", step.count()}});
      table.add({bytes_text(plan.memory.total()),
                 bytes_text(plan.memory.peak),
                 time_text(step),
                 percent(plan.recomputation / front.step),
                 std::to_string(plan.repeated)});
    }
    document["models"].push_back(std::move(model));
    if (style == OutputMode::kText) {
      out << title_of(front.instance) << "  (" << kArithmetic << ")\n";
      table.write(out);
    }
  }
  if (style == OutputMode::kJson) {
    write_json(document, out);
  }
}

void write_exchanges(const ExchangeSchedules& steps, OutputMode style, std::ostream& out) {
  Json document = document_of(kArithmetic);
  document["models"] = Json::array();
  AlignedTable table({{"model"},
                      {"exchanges", true},
                      {"computation", true},
                      {"communication", true},
                      {"one after the other", true},
                      {"overlapped", true}});
  for (const auto& [instance, schedule] : steps) {
    Json model = instance_json(instance);
    model["computation_seconds"] = schedule.computation.count();
    model["communication_seconds"] = schedule.communication.count();
    model["after_each_other_seconds"] = schedule.after_each_other().count();
    model["overlapped_seconds"] = schedule.overlapped.count();
    model["exchanges"] = Json::array();
    for (const analysis::ExchangeSchedule::Exchange& exchange : schedule.exchanges) {
      model["exchanges"].push_back({{"bytes", exchange.bytes.value},
                                    {"ready_seconds", exchange.ready.count()},
                                    {"begin_seconds", exchange.begin.count()},
                                    {"end_seconds", exchange.end.count()}});
    }
    document["models"].push_back(std::move(model));
    table.add({title_of(instance),
               std::to_string(schedule.exchanges.size()),
               time_text(schedule.computation),
               time_text(schedule.communication),
               time_text(schedule.after_each_other()),
               time_text(schedule.overlapped)});
  }
  if (style == OutputMode::kJson) {
    return write_json(document, out);
  }
  table.write(out);
  out << "(" << kArithmetic << "; communication times are given)\n";
}

void write_training_times(const std::vector<TrainingTime>& times,
                          OutputMode style,
                          std::ostream& out) {
  Json document = document_of("estimated: measured steps times given epochs; nothing was trained");
  document["models"] = Json::array();
  AlignedTable table({{"model"},
                      {"step", true},
                      {"steps an epoch", true},
                      {"samples/s", true},
                      {"time to train, estimated", true},
                      {"asynchronous evaluation", true}});
  for (const TrainingTime& each : times) {
    const double rate =
        static_cast<double>(analysis::samples_of_step(each.instance)) / each.step.count();
    Json model = instance_json(each.instance);
    model["mode"] = each.mode;
    model["step_seconds"] = each.step.count();
    model["steps_per_epoch"] = each.epoch.steps;
    model["epochs"] = each.epochs;
    model["samples_per_second"] = rate;
    model["estimated_seconds"] = each.in_turn.count();
    model["estimated_asynchronous_seconds"] = each.asynchronous.count();
    document["models"].push_back(std::move(model));
    table.add({title_of(each.instance),
               time_text(each.step),
               std::to_string(each.epoch.steps),
               fmt::format("{:.1f}", rate),
               duration_text(each.in_turn),
               duration_text(each.asynchronous)});
  }
  if (style == OutputMode::kJson) {
    return write_json(document, out);
  }
  table.write(out);
  out << "(estimated: measured steps times given epochs; nothing was trained)\n";
}

namespace {

/// Part of a training step, with what its layers compute and move.
struct Phase {
  std::string_view name;
  model::Graph::Totals totals;
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
  for (const rewrite::TrainingGraph::Gradient& each : training.gradients) {
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
