// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/batch_rows.hpp"

#include <fmt/format.h>

#include <ostream>

#include "harness/analysis/limits/batch_curve.hpp"
#include "reporting/content/run/report_writers.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {

void write_batches(std::span<const analysis::ModelBounds> models, std::ostream& out) {
  for (const analysis::BatchCurve& curve : analysis::compute_batch_curves(models)) {
    out << fmt::format("{}  {}  {}: {}\n",
                       sanitize_utf8(curve.model),
                       curve.dtype,
                       curve.mode,
                       curve.knee ? fmt::format("the knee is at batch {}", *curve.knee)
                                  : "no knee up to the largest batch");
    AlignedTable table({{"  batch", true}, {"latency", true}, {"inputs/s", true}});
    for (const analysis::BatchPoint& point : curve.points) {
      table.add({fmt::format("  {}", point.batch),
                 with_interval(point.seconds, point.interval),
                 count_text(point.throughput())});
    }
    table.write(out);
    out << '\n';
  }
  for (const analysis::CapturedGraphs& sum : analysis::sum_captured_graphs(models)) {
    out << fmt::format("{}  {}: {} captured graph{} hold {} and save {} against launches\n",
                       sanitize_utf8(sum.model),
                       sum.dtype,
                       sum.graphs,
                       sum.graphs == 1 ? "" : "s",
                       bytes_text(sum.memory),
                       time_text(sum.saved));
  }
}

}  // namespace plumb::reporting
