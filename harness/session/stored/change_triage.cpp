// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/change_triage.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/json_text.hpp"
#include "harness/results/json_object.hpp"
#include "harness/session/stored/run_record.hpp"

namespace plumb::session {
namespace {

/// Entries of the book of changes for one series in one run.
struct StoredEntries {
  std::size_t count = 0;
  std::optional<nlohmann::json> last;
};

StoredEntries read_entries(const store::Store& store, const analysis::ChangeRecord& change) {
  StoredEntries entries;
  std::string last;
  for (results::DerivedRecord& record : store.derived(change.run, "change")) {
    if (record.subject == change.series) {
      ++entries.count;
      last = std::move(record.payload);
    }
  }
  if (entries.count > 0) {
    entries.last = results::parse_json(last);
  }
  return entries;
}

/// Returns whether a stored entry has the values of a new one, which has no number yet.
bool says_the_same(const nlohmann::json& stored, const nlohmann::json& entry) {
  for (const auto& [name, value] : entry.items()) {
    if (!stored.contains(name) || stored.at(name) != value) {
      return false;
    }
  }
  return true;
}

}  // namespace

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
    nlohmann::json entry{{"state", to_text(change.state)},
                         {"reason", change.reason},
                         {"before_seconds", change.before},
                         {"after_seconds", change.after},
                         {"judged_with", newest}};
    const StoredEntries earlier = read_entries(store, change);
    if (earlier.last && says_the_same(*earlier.last, entry)) {
      continue;
    }
    // The store drops a record that it has already, and a decision may come back.
    entry["number"] = earlier.count;
    put_run_record(store, change.run, "change", change.series, json_text(entry));
  }
}

}  // namespace plumb::session
