// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/change_triage.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/json_text.hpp"
#include "harness/results/json_object.hpp"
#include "harness/session/stored/run_record.hpp"

namespace plumb::session {

std::vector<analysis::ChangeRecord> read_changes(const store::Store& store,
                                                 std::span<const results::RunRecord> runs) {
  std::vector<analysis::ChangeRecord> changes;
  for (const results::RunRecord& run : runs) {
    for (const results::DerivedRecord& record : store.derived(run.header.id, "change")) {
      const nlohmann::json document = results::parse_json(record.payload);
      const results::JsonObject entry(document);
      const auto state = analysis::parse_change_state(entry.text("state"));
      if (!state) {
        throw Error(Error::Kind::kEnvironment,
                    "run " + record.run + " has a change in the state '" + entry.text("state") +
                        "', which this version does not know: use a newer plumb");
      }
      changes.push_back({.series = record.subject,
                         .run = record.run,
                         .state = *state,
                         .reason = entry.text_or_empty("reason"),
                         .before = entry.number("before_seconds"),
                         .after = entry.number("after_seconds")});
    }
  }
  return changes;
}

void enter_changes(store::Store& store,
                   std::span<const analysis::ChangeRecord> changes,
                   const results::RunId& newest) {
  for (const analysis::ChangeRecord& change : changes) {
    put_run_record(store,
                   change.run,
                   "change",
                   change.series,
                   json_text(nlohmann::json{{"state", to_text(change.state)},
                                            {"reason", change.reason},
                                            {"before_seconds", change.before},
                                            {"after_seconds", change.after},
                                            {"judged_with", newest}}));
  }
}

}  // namespace plumb::session
