// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "reporting/content/run/report_writers.hpp"
#include "reporting/document/csv_text.hpp"

namespace plumb {
namespace {

/// Writes one layer with its hot time by the fastest variant. Times that are not known are empty.
void write_layer(std::vector<std::string> cells,
                 const LayerKey& key,
                 const std::optional<KeyTime>& time,
                 std::ostream& out) {
  const auto seconds = [&](auto value) {
    return csv_number(time ? std::optional(value(*time).count()) : std::nullopt);
  };
  cells.insert(cells.end(),
               {key.text,
                time ? time->variant : "",
                seconds([](const KeyTime& each) { return each.time.median; }),
                seconds([](const KeyTime& each) { return each.time.interval.low; }),
                seconds([](const KeyTime& each) { return each.time.interval.high; })});
  out << csv_row(cells);
}

}  // namespace

void write_csv_report(const RunReport& report, std::ostream& out) {
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
  const ResultSet results(report.rows, report.calibration);
  for (const ModelReport& model : report.models) {
    const ModelInstance& instance = model.bounds.instance;
    for (const Layer& layer : model.graph.layers) {
      if (layer.role == Layer::Role::kCompute) {
        write_layer({instance.model,
                     std::to_string(instance.batch),
                     instance.dtype,
                     layer.name,
                     layer.onnx_op},
                    layer.key,
                    results.best(layer.key, CacheMode::kNone),
                    out);
      }
    }
  }
  for (const SingleLayerResult& result : report.layers) {
    write_layer({"", "", "", result.layer.file, ""}, result.layer.key, result.time, out);
  }
}

}  // namespace plumb
