// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "reporting/content/run/report_writers.hpp"
#include "reporting/document/csv_text.hpp"

namespace plumb::reporting {
namespace {

/// Writes one layer with its hot time by the fastest variant. Times that are not known are empty.
void write_layer(std::vector<std::string> cells,
                 const model::LayerKey& key,
                 const std::optional<analysis::KeyTime>& time,
                 std::ostream& out) {
  const auto seconds = [&](auto value) {
    return csv_number(time ? std::optional(value(*time).count()) : std::nullopt);
  };
  cells.insert(cells.end(),
               {key.text,
                time ? time->variant : "",
                seconds([](const analysis::KeyTime& each) { return each.time.median; }),
                seconds([](const analysis::KeyTime& each) { return each.time.interval.low; }),
                seconds([](const analysis::KeyTime& each) { return each.time.interval.high; })});
  out << csv_row(cells);
}

}  // namespace

void write_csv_report(const analysis::RunReport& report, std::ostream& out) {
  out << csv_row({"model",
                  "batch",
                  "dtype",
                  "layer",
                  "op",
                  "key",
                  "variant",
                  "median_seconds",
                  "low_seconds",
                  "high_seconds"});
  const analysis::ResultSet results(report.rows, report.calibration);
  for (const analysis::ModelReport& model : report.models) {
    const analysis::ModelInstance& instance = model.bounds.instance;
    for (const model::Layer& layer : model.graph.layers) {
      if (layer.role == model::Layer::Role::kCompute) {
        write_layer({full_name(instance),
                     std::to_string(instance.batch),
                     instance.dtype,
                     layer.name,
                     layer.onnx_op},
                    layer.key,
                    results.best(layer.key, results::CacheMode::kNone),
                    out);
      }
    }
  }
  for (const analysis::SingleLayerResult& result : report.layers) {
    write_layer({"", "", "", result.layer.file, ""}, result.layer.key, result.time, out);
  }
}

}  // namespace plumb::reporting
