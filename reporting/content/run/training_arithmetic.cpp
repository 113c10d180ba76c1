// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/training_arithmetic.hpp"

#include <fmt/format.h>

#include <ostream>
#include <string_view>

#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/document/sanitized_text.hpp"

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

Json memory_json(const model::GraphMemory& memory) {
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
                    const analysis::GraphCounts& graphs,
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
    for (const analysis::PricedCheckpoints& plan : front.plans) {
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

void write_exchanges(const std::vector<DataParallelStep>& steps,
                     OutputMode style,
                     std::ostream& out) {
  Json document = document_of(kArithmetic);
  document["models"] = Json::array();
  AlignedTable table({{"model"},
                      {"exchanges", true},
                      {"computation", true},
                      {"communication", true},
                      {"one after the other", true},
                      {"overlapped", true}});
  for (const DataParallelStep& each : steps) {
    const analysis::ExchangeSchedule& schedule = each.schedule;
    Json model = instance_json(each.instance);
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
    table.add({title_of(each.instance),
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
    model["estimated_seconds"] = each.schedule.in_turn.count();
    model["estimated_asynchronous_seconds"] = each.schedule.asynchronous.count();
    document["models"].push_back(std::move(model));
    table.add({title_of(each.instance),
               time_text(each.step),
               std::to_string(each.epoch.steps),
               fmt::format("{:.1f}", rate),
               duration_text(each.schedule.in_turn),
               duration_text(each.schedule.asynchronous)});
  }
  if (style == OutputMode::kJson) {
    return write_json(document, out);
  }
  table.write(out);
  out << "(estimated: measured steps times given epochs; nothing was trained)\n";
}

}  // namespace plumb::reporting
