// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/coschedule/step_needs.hpp"
#include "harness/analysis/coschedule/unlimited_schedule.hpp"
#include "harness/analysis/report/limits_json.hpp"
#include "harness/analysis/report/what_if_json.hpp"
#include "harness/base/error.hpp"
#include "harness/base/saturating_sum.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/content/run/report_writers.hpp"
#include "reporting/content/run/single_layers.hpp"
#include "reporting/content/samples/listing_content.hpp"
#include "reporting/content/samples/profile_files.hpp"
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

/// Writes the steps of a partition, what each waits for, and where it lies in their timeline.
class PartitionJson {
 public:
  PartitionJson(const model::Graph& graph, const ExecutionTexts& executions)
      : graph_(graph), executions_(executions) {}

  /// Adds the steps and their timeline to a model's entry.
  void add(const std::vector<analysis::PartitionStep>& cover, analysis::Json& entry) const {
    const std::vector<std::vector<std::size_t>> needs = analysis::step_needs(graph_, cover);
    const analysis::UnlimitedSchedule schedule = analysis::schedule_without_limits(cover, needs);
    analysis::Json steps = analysis::Json::array();
    for (std::size_t step = 0; step < cover.size(); ++step) {
      const analysis::UnlimitedSchedule::Place& place = schedule.places[step];
      analysis::Json row = step_json(cover[step], needs[step]);
      row["begin"] = place.begin.count();
      row["end"] = place.end.count();
      row["lane"] = place.lane;
      steps.push_back(std::move(row));
    }
    entry["cover"] = std::move(steps);
    entry["timeline"] = {{"total_seconds", schedule.total.count()},
                         {"lanes", schedule.lanes},
                         {"timed", schedule.timed}};
  }

 private:
  [[nodiscard]] analysis::Json step_json(const analysis::PartitionStep& step,
                                         const std::vector<std::size_t>& after) const {
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
                       {"after", after},
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
  const ExecutionTexts& executions_;
};

/// Writes the share of each model's cover that each operator takes, the largest first. The last row
/// is of all operators beyond kMostOperators. A model without times has no shares.
analysis::Json operators_json(std::span<const analysis::ModelReport> models) {
  constexpr std::size_t kMostOperators = 9;
  using Shares = std::vector<double>;       // of each model
  std::map<std::string, Shares> operators;  // a fused step counts as its first
  std::vector<bool> timed;
  for (std::size_t model = 0; model < models.size(); ++model) {
    double total = 0.0;
    for (const analysis::PartitionStep& step : models[model].bounds.cover) {
      if (step.time) {
        const std::string& op = models[model].graph.layers[step.layers.front()].onnx_op;
        const double seconds = step.time->time.median.count();
        operators.try_emplace(op, models.size()).first->second[model] += seconds;
        total += seconds;
      }
    }
    timed.push_back(total > 0.0);
    for (auto& [op, shares] : operators) {
      shares[model] = total > 0.0 ? shares[model] / total : 0.0;
    }
  }
  std::vector<std::pair<std::string, Shares>> rows(operators.begin(), operators.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& one, const auto& other) {
    return *std::max_element(one.second.begin(), one.second.end()) >
           *std::max_element(other.second.begin(), other.second.end());
  });
  for (std::size_t row = kMostOperators + 1; row < rows.size(); ++row) {
    for (std::size_t model = 0; model < models.size(); ++model) {
      rows[kMostOperators].second[model] += rows[row].second[model];
    }
    rows[kMostOperators].first = "others";
  }
  rows.resize(std::min(rows.size(), kMostOperators + 1));
  analysis::Json list = analysis::Json::array();
  for (const auto& [op, shares] : rows) {
    analysis::Json row{{"op", op}, {"shares", analysis::Json::array()}};
    for (std::size_t model = 0; model < models.size(); ++model) {
      row["shares"].push_back(timed[model] ? analysis::Json(shares[model]) : analysis::Json());
    }
    list.push_back(std::move(row));
  }
  return list;
}

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

/// Writes where inside a model's layers its time goes. null: the run keeps no profile of it.
analysis::Json flame_graph_json(const analysis::ModelReport& model) {
  if (!model.profile) {
    return {};
  }
  std::ostringstream svg;
  write_flame_graph(*model.profile, svg);
  return {{"svg", std::move(svg).str()}, {"mode", model.profile->mode}};
}

/// Writes the listings of a model's hottest functions as texts.
analysis::Json listings_json(const analysis::ModelReport& model) {
  analysis::Json listings = analysis::Json::array();
  if (!model.profile) {
    return listings;
  }
  for (const results::CodeListing& listing : model.profile->listings) {
    ListingContent content = describe_listing(analysis::list_shares(*model.profile, listing));
    analysis::Json rows = analysis::Json::array();
    for (const ListingRow& row : content.rows) {
      rows.push_back({row.share, row.interval, row.samples, row.offset, row.instruction});
    }
    listings.push_back({{"title", std::move(content.title)},
                        {"notes", std::move(content.notes)},
                        {"rows", std::move(rows)}});
  }
  return listings;
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
      {"operators", operators_json(report.models)},
      {"layers", analysis::layers_json(report)},
      {"exclusions",
       analysis::exclusions_json(report.exclusions, analysis::day_of(report.run.header))}};
  if (report.calibration) {
    data["calibration"] = {{"peak_f32_flops_per_second", report.calibration->peak_f32.value},
                           {"memory_bytes_per_second", report.calibration->memory_bandwidth.value}};
  }
  const std::vector<analysis::ModelBounds> bounds = analysis::all_bounds(report);
  data["batches"] = analysis::batches_json(bounds);
  data["captured_graphs"] = analysis::captured_graphs_json(bounds);
  const ExecutionTexts executions = execution_texts(report.rows);
  for (const analysis::ModelReport& model : report.models) {
    analysis::Json entry = analysis::bounds_json(model.bounds, report.now);
    PartitionJson(model.graph, executions).add(model.bounds.cover, entry);
    entry["roofline"] = analysis::limits_json(model.graph, model.limits);
    entry["waterfall"] = analysis::waterfall_json(model.waterfall);
    entry["schedules"] = analysis::Json::array();
    for (const analysis::CoSchedule& schedule : model.schedules) {
      entry["schedules"].push_back(analysis::schedule_json(model.graph, schedule));
    }
    entry["trace"] = model.trace.empty() ? analysis::Json() : analysis::Json::parse(model.trace);
    entry["flame_graph"] = flame_graph_json(model);
    entry["listings"] = listings_json(model);
    entry["without_listings"] = kNoListings;
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
