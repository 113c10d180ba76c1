// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/change_triage.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/json_text.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/series/series_name.hpp"
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

/// Returns whether a stored entry says what a new one does, which has no number yet.
bool says_the_same(nlohmann::json stored, const nlohmann::json& entry) {
  stored.erase("number");
  return stored == entry;
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
      changes.push_back(
          {.series = record.subject,
           .run = record.run,
           .state = *state,
           .reason = entry.text_or_empty("reason"),
           .before = entry.number("before_seconds"),
           .after = entry.number("after_seconds"),
           .who = entry.text_or_empty("who"),
           .assignee = entry.has("assignee") ? std::optional(entry.text("assignee")) : std::nullopt,
           .note = entry.text_or_empty("note")});
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
    if (!change.who.empty()) {
      entry["who"] = change.who;
    }
    if (change.assignee) {
      entry["assignee"] = *change.assignee;
    }
    if (!change.note.empty()) {
      entry["note"] = change.note;
    }
    const StoredEntries earlier = read_entries(store, change);
    if (earlier.last && says_the_same(*earlier.last, entry)) {
      continue;
    }
    // The store drops a record that it has already, and a decision may come back.
    entry["number"] = earlier.count;
    put_run_record(store, change.run, "change", change.series, json_text(entry));
  }
}

std::vector<analysis::ChangeRecord> named_changes(const store::Store& store,
                                                  std::span<const analysis::SeriesFinding> findings,
                                                  const std::string& name) {
  const std::size_t at = name.rfind('@');
  const std::string series = name.substr(0, at);
  const results::RunId run =
      at == std::string::npos ? results::RunId() : store.find_run(name.substr(at + 1)).header.id;
  std::vector<analysis::ChangeRecord> entries;
  for (const analysis::SeriesFinding& finding : findings) {
    for (const analysis::SeriesChange& change : finding.changes) {
      if (change.run == run &&
          (series.empty() || finding.id == series || finding.id == results::layer_series(series))) {
        entries.push_back(
            {finding.id, run, change.state, change.reason, change.before, change.after});
      }
    }
  }
  if (entries.empty()) {
    throw Error(Error::Kind::kUser,
                "'" + name +
                    "' does not name a change: write SERIES@RUN as 'plumb detect' lists it, or "
                    "@RUN for all changes of a run");
  }
  return entries;
}

}  // namespace plumb::session
