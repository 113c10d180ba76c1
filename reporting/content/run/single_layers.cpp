// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/single_layers.hpp"

#include <ostream>

#include "reporting/document/aligned_table.hpp"
#include "reporting/document/quantity_text.hpp"

namespace plumb::reporting {

std::string rate_text(const analysis::SingleLayerResult& layer) {
  const double seconds = layer.time ? layer.time->time.median.count() : 0.0;
  return seconds > 0.0 && layer.cost.macs > 0
             ? count_text(static_cast<double>(layer.cost.macs) / seconds)
             : "–";
}

std::string ratio_to_hardware(const analysis::SingleLayerResult& layer) {
  return layer.time && layer.hardware && layer.hardware->count() > 0.0
             ? ratio_text(layer.time->time.median / *layer.hardware)
             : "–";
}

void write_single_layers(const analysis::RunReport& report, std::ostream& out) {
  if (report.layers.empty()) {
    return;
  }
  AlignedTable table({{"time", true},
                      {"MAC/s", true},
                      {"÷ hardware", true},
                      {"count", true},
                      {"variant, or why there is no time"},
                      {"layer"}});
  for (const analysis::SingleLayerResult& result : report.layers) {
    table.add({result.time ? time_text(result.time->time.median) : "–",
               rate_text(result),
               ratio_to_hardware(result),
               std::to_string(result.layer.count),
               result.time ? result.time->variant : result.reason,
               result.layer.key.text});
  }
  table.write(out);
}

}  // namespace plumb::reporting
