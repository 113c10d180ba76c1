// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/report/limits_json.hpp"

#include <string>

#include "harness/analysis/bounds/model_partition.hpp"

namespace plumb::analysis {
namespace {

Json limit_or_null(const std::optional<Limit>& limit) {
  return limit ? Json(to_text(*limit)) : Json();
}

}  // namespace

Json limits_json(const model::Graph& graph, const ModelLimits& limits) {
  Json shares = Json::object();
  for (const Limit limit : kLimits) {
    shares[std::string(to_text(limit))] = limits.share(limit);
  }
  Json steps = Json::array();
  for (const StepLimit& step : limits.steps) {
    steps.push_back({{"name", name_of(graph, step.layers)},
                     {"layers", step.layers},
                     {"key", step.key.text},
                     {"seconds", step.seconds.count()},
                     {"limit", limit_or_null(step.limit)},
                     {"operations_per_byte", number_or_null(step.intensity)},
                     {"peak_share", number_or_null(step.peak_share)},
                     {"bandwidth_share", number_or_null(step.bandwidth_share)},
                     {"block_use", number_or_null(step.block_use)},
                     {"padded_key", text_or_null(step.padded.text)},
                     {"padded_seconds", seconds_or_null(step.padded_seconds)},
                     {"waves", number_or_null(step.waves)},
                     {"idle_in_last_wave", number_or_null(step.idle_in_last_wave())}});
  }
  return {{"limit", limit_or_null(limits.limit)},
          {"operations", limits.operations.value},
          {"compulsory_bytes", limits.compulsory.value},
          {"operations_per_byte", number_or_null(limits.intensity)},
          {"ridge_operations_per_byte", number_or_null(limits.ridge)},
          {"time_shares", shares},
          {"steps", steps}};
}

Json batches_json(std::span<const ModelBounds> models) {
  Json curves = Json::array();
  for (const BatchCurve& curve : compute_batch_curves(models)) {
    Json points = Json::array();
    for (const BatchCurve::Point& point : curve.points) {
      points.push_back({{"batch", point.batch},
                        {"seconds", point.seconds.count()},
                        {"low", point.interval.low.count()},
                        {"high", point.interval.high.count()},
                        {"inputs_per_second", point.throughput()}});
    }
    curves.push_back({{"model", curve.model},
                      {"dtype", curve.dtype},
                      {"dims", curve.dims},
                      {"mode", curve.mode},
                      {"knee", number_or_null(curve.knee)},
                      {"points", points}});
  }
  return curves;
}

Json captured_graphs_json(std::span<const ModelBounds> models) {
  Json rows = Json::array();
  for (const CapturedGraphs& sum : sum_captured_graphs(models)) {
    rows.push_back({{"model", sum.model},
                    {"dtype", sum.dtype},
                    {"graphs", sum.graphs},
                    {"memory_bytes", sum.memory.value},
                    {"saved_seconds", sum.saved.count()}});
  }
  return rows;
}

}  // namespace plumb::analysis
