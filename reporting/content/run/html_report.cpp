// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/saturating_sum.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/content/run/report_writers.hpp"
#include "reporting/content/run/single_layers.hpp"
#include "reporting/document/attribute_text.hpp"
#include "reporting/html/embedded_page.hpp"
#include "reporting/html/page_writer.hpp"

namespace plumb::reporting {
namespace {

/// Texts about how rows were executed, by row. Rows of which the backend says nothing are not
/// there.
using ExecutionTexts = std::map<results::RowId, std::string>;

ExecutionTexts execution_texts(const std::vector<results::StoredMeasurement>& rows) {
  ExecutionTexts texts;
  for (const results::StoredMeasurement& row : rows) {
    if (std::string text = attribute_text(row.measurement); !text.empty()) {
      texts.emplace(row.row, std::move(text));
    }
  }
  return texts;
}

/// Graph of a partition: its steps and, for each, the steps that it waits for.
class PartitionGraph {
 public:
  PartitionGraph(const model::Graph& graph,
                 const std::vector<analysis::PartitionStep>& cover,
                 const ExecutionTexts& executions)
      : graph_(graph), cover_(cover), executions_(executions) {
    for (std::size_t step = 0; step < cover.size(); ++step) {
      for (const model::LayerId layer : cover[step].layers) {
        step_of_[layer] = step;
      }
    }
  }

  [[nodiscard]] analysis::Json to_json() const {
    const std::vector<std::vector<model::LayerId>> before = model::predecessors(graph_);
    analysis::Json steps = analysis::Json::array();
    for (std::size_t step = 0; step < cover_.size(); ++step) {
      std::set<std::size_t> after;
      std::set<model::LayerId> seen;
      for (const model::LayerId layer : cover_[step].layers) {
        collect(before, layer, step, seen, after);
      }
      steps.push_back(step_json(cover_[step], after));
    }
    return steps;
  }

 private:
  /// Finds the steps that produce a layer's inputs. The search goes on behind layers outside of the
  /// partition (folded ones).
  void collect(const std::vector<std::vector<model::LayerId>>& before,
               model::LayerId layer,
               std::size_t self,
               std::set<model::LayerId>& seen,
               std::set<std::size_t>& found) const {
    for (const model::LayerId producer : before[layer]) {
      if (!seen.insert(producer).second) {
        continue;
      }
      const auto place = step_of_.find(producer);
      if (place == step_of_.end()) {
        collect(before, producer, self, seen, found);
      } else if (place->second != self) {
        found.insert(place->second);
      }
    }
  }

  [[nodiscard]] analysis::Json step_json(const analysis::PartitionStep& step,
                                         const std::set<std::size_t>& after) const {
    PLUMB_CHECK(!step.layers.empty());
    const model::Layer& first = graph_.layers[step.layers.front()];
    const bool free = first.role != model::Layer::Role::kCompute && step.rewrite.empty();
    model::LayerCost cost{};
    for (const model::LayerId id : step.layers) {
      cost.macs = saturating_sum(cost.macs, graph_.layers[id].cost.macs);
      cost.flops += graph_.layers[id].cost.flops;
    }
    if (!step.key.text.empty()) {
      const model::LayerCost whole = model::compute_cost(model::parse_key(step.key));
      cost.input_bytes = whole.input_bytes + whole.weight_bytes + whole.output_bytes;
    }
    analysis::Json row{{"name", first.name.empty() ? first.onnx_op : first.name},
                       {"op", first.onnx_op},
                       {"rewrite", step.rewrite},
                       {"layers", step.layers.size()},
                       {"key", step.key.text},
                       {"critical", step.critical},
                       {"free", free},
                       {"macs", cost.macs},
                       {"flops", cost.flops.value},
                       {"bytes", cost.input_bytes.value},
                       {"after", std::vector<std::size_t>(after.begin(), after.end())},
                       {"seconds", analysis::Json()}};
    if (step.time) {
      row["seconds"] = step.time->time.median.count();
      row["low"] = step.time->time.interval.low.count();
      row["high"] = step.time->time.interval.high.count();
      row["samples"] = step.time->time.n;
      row["variant"] = step.time->variant;
      const auto execution = executions_.find(step.time->row);
      if (execution != executions_.end()) {
        row["executed_by"] = execution->second;
      }
    }
    return row;
  }

  const model::Graph& graph_;
  const std::vector<analysis::PartitionStep>& cover_;
  const ExecutionTexts& executions_;
  std::map<model::LayerId, std::size_t> step_of_;
};

analysis::Json list_failures(const analysis::RunReport& report) {
  analysis::Json failures = analysis::Json::array();
  constexpr std::size_t kMost = 500;
  for (const results::StoredMeasurement& row : report.rows) {
    const results::Measurement& m = row.measurement;
    if (!m.outcome.timed() && m.outcome.kind != results::Outcome::Kind::kSkipped &&
        failures.size() < kMost) {
      failures.push_back({{"key", m.key.text},
                          {"variant", m.variant},
                          {"outcome", to_text(m.outcome.kind)},
                          {"reason", m.outcome.reason}});
    }
  }
  return failures;
}

analysis::Json page_data(const analysis::RunReport& report) {
  analysis::Json data{
      {"header", analysis::run_json(report.run)},
      {"identity", report.run.header.environment.identity},
      {"facts", report.run.header.environment.facts},
      {"commit_url", report.commits.address(results::commit_of(report.run.header.environment))},
      {"now", to_text(report.now)},
      {"calibration", analysis::Json()},
      {"failures", list_failures(report)},
      {"models", analysis::Json::array()},
      {"layers", analysis::layers_json(report)},
      {"exclusions",
       analysis::exclusions_json(report.exclusions, analysis::day_of(report.run.header))}};
  if (report.calibration) {
    data["calibration"] = {{"peak_f32_flops_per_second", report.calibration->peak_f32.value},
                           {"memory_bytes_per_second", report.calibration->memory_bandwidth.value}};
  }
  const ExecutionTexts executions = execution_texts(report.rows);
  for (const analysis::ModelReport& model : report.models) {
    analysis::Json entry = analysis::bounds_json(model.bounds, report.now);
    entry["cover"] = PartitionGraph(model.graph, model.bounds.cover, executions).to_json();
    entry["whatifs"] = analysis::Json::array();
    for (const analysis::WhatIfResult& whatif : model.whatifs.whatifs) {
      entry["whatifs"].push_back(analysis::what_if_json(whatif));
    }
    data["models"].push_back(std::move(entry));
  }
  return data;
}

}  // namespace

void write_html_report(const analysis::RunReport& report, std::ostream& out) {
  write_page(page_data(report), embedded_page().report_script, out);
}

}  // namespace plumb::reporting
