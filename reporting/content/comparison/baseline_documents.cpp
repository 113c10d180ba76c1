// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/baseline_documents.hpp"

#include <ostream>

#include "harness/analysis/report/run_json.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/aligned_table.hpp"

namespace plumb::reporting {

void write_baselines(std::span<const analysis::BaselineEntry> entries,
                     OutputMode style,
                     std::ostream& out) {
  if (style == OutputMode::kText) {
    AlignedTable table(
        {{"baseline"}, {"run"}, {"suite"}, {"stack"}, {"accepted"}, {"by"}, {"reason"}});
    for (const analysis::BaselineEntry& entry : entries) {
      table.add({entry.name + (entry.current ? "" : " (before)"),
                 entry.run.id,
                 entry.run.suite,
                 entry.run.stack,
                 entry.accepted ? to_text(*entry.accepted) : "–",
                 entry.who.empty() ? "–" : entry.who,
                 entry.reason.empty() ? "–" : entry.reason});
    }
    table.write(out);
    return;
  }
  analysis::Json rows = analysis::Json::array();
  for (const analysis::BaselineEntry& entry : entries) {
    rows.push_back(
        {{"name", entry.name},
         {"run", entry.run.id},
         {"suite", entry.run.suite},
         {"stack", entry.run.stack},
         {"environment", entry.run.environment.id()},
         {"current", entry.current},
         {"accepted", entry.accepted ? analysis::Json(to_text(*entry.accepted)) : analysis::Json()},
         {"who", analysis::text_or_null(entry.who)},
         {"reason", analysis::text_or_null(entry.reason)},
         {"previous", analysis::text_or_null(entry.previous)}});
  }
  write_json(analysis::Json{{"schema_version", analysis::kJsonSchemaVersion},
                            {"baselines", std::move(rows)}},
             out);
}

}  // namespace plumb::reporting
